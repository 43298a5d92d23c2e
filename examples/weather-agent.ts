/**
 * An agent whose answer is a value: `output` is a schema, `result.output` has its type, and an answer that does not fit goes
 * back to the model once. Its tool is typed on both sides: arguments and results are decoded, and an unknown city is a typed
 * failure, which the model reads and which does not end the run. The tool's handler takes the service it needs, here a list in
 * memory, when its layer is built; the test replaces only the model.
 *
 * `npm run build`, set OPENAI_API_KEY or OPENAI_BASE_URL, then `node examples/weather-agent.ts Oslo`
 */
import { NodeRuntime } from "@effect/platform-node"
import { Console, Context, Effect, Layer, Option, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, Fiberloop, ModelOpenAi, SessionStoreSqlite } from "fiberloop"

export class Forecast extends Schema.Class<Forecast>("Forecast")({
  celsius: Schema.Finite,
  rainMillimetres: Schema.Finite
}) {}

/** Where forecasts come from: in your application an HTTP client or a database. */
export class Forecasts extends Context.Service<Forecasts, {
  readonly tomorrow: (city: string) => Effect.Effect<Option.Option<Forecast>>
}>()("weather/Forecasts") {
  static readonly layer = Layer.succeed(Forecasts, {
    tomorrow: (city) =>
      Effect.succeed(Option.fromUndefinedOr(
        new Map([
          ["Oslo", new Forecast({ celsius: 4, rainMillimetres: 12 })],
          ["Rome", new Forecast({ celsius: 19, rainMillimetres: 0 })]
        ]).get(city)
      ))
  })
}

export class UnknownCity extends Schema.TaggedClass<UnknownCity>()("UnknownCity", {
  city: Schema.String,
  hint: Schema.String
}) {}

export const Weather = Toolkit.make(
  Tool.make("get_forecast", {
    description: "Tomorrow's weather in a city, by its English name",
    parameters: Schema.Struct({ city: Schema.String }),
    success: Forecast,
    failure: UnknownCity
  }).annotate(Tool.Readonly, true)
)

export const WeatherLive = Weather.toLayer(Effect.gen(function*() {
  const forecasts = yield* Forecasts
  return {
    get_forecast: Effect.fnUntraced(function*({ city }) {
      const forecast = yield* forecasts.tomorrow(city)
      if (Option.isSome(forecast)) return forecast.value
      return yield* Effect.fail(new UnknownCity({ city, hint: "Use the English name, without the country." }))
    })
  }
}))

export const Advice = Schema.Struct({ city: Schema.String, bring: Schema.Literals(["umbrella", "sunglasses", "coat"]) })

export class Adviser extends Agent.Service<Adviser>()("weather/Adviser", {
  instructions: "Say what to bring to a city tomorrow. Look up the forecast first.",
  toolkit: Weather,
  output: Advice,
  limits: { maxTurns: 6 }
}) {}

export const AdviserLive = Adviser.layer.pipe(Layer.provide([WeatherLive, Fiberloop.layer]))

/** What to bring; `undefined` when the run ended at a limit before the model had an answer. */
export const advise = Effect.fnUntraced(function*(city: string) {
  const result = yield* (yield* Adviser).run({ input: `What shall I bring to ${city}?` })
  return result._tag === "Completed" ? result.output : undefined
})

if (process.argv[1] === import.meta.filename) {
  const Live = AdviserLive.pipe(Layer.provide([
    Forecasts.layer,
    SessionStoreSqlite.layer({ filename: "weather.db" }),
    ModelOpenAi.layer({ model: process.env.FIBERLOOP_MODEL ?? "gpt-5.5" })
  ]))
  NodeRuntime.runMain(advise(process.argv[2] ?? "Rome").pipe(Effect.flatMap(Console.log), Effect.provide(Live)))
}
