import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect, Layer, Schema, Stream } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, Fiberloop, ModelOpenAi, RunEvents, SessionStoreSqlite } from "fiberloop"

const Weather = Toolkit.make(
  Tool.make("get_weather", {
    description: "Current temperature of a city",
    parameters: Schema.Struct({ city: Schema.String }),
    success: Schema.Struct({ celsius: Schema.Finite })
  }).annotate(Tool.Readonly, true)
)

export class Assistant extends Agent.Service<Assistant>()("app/Assistant", {
  instructions: "Answer in one sentence. Look facts up before you answer.",
  toolkit: Weather,
  limits: { maxTurns: 10 }
}) {}

export const AssistantLive = Assistant.layer.pipe(Layer.provide([
  Weather.toLayer({ get_weather: ({ city }) => Effect.succeed({ celsius: city === "Oslo" ? 4 : 19 }) }),
  Fiberloop.layer
]))

export const program = Effect.gen(function*() {
  const assistant = yield* Assistant
  const text = assistant.stream({ input: "Is it warmer in Oslo or in Rome?" }).pipe(RunEvents.text)
  return yield* Stream.mkString(text)
}).pipe(Effect.catchTag("RetryableError", (e) => Effect.succeed(`try again later: ${e.message}`)))

const Prod = Layer.provide([
  SessionStoreSqlite.layer({ filename: "sessions.db" }),
  ModelOpenAi.layer({ model: "gpt-5.5" })
])

if (process.argv[1] === import.meta.filename) {
  NodeRuntime.runMain(Effect.flatMap(program, Console.log).pipe(Effect.provide(AssistantLive.pipe(Prod))))
}
