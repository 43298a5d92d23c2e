/**
 * A run that stops at its turn limit in one process and goes on in another. A limit is an end like the others, stored with the
 * usage so far; `resume` opens the session's last run again, with higher limits, and counts on from there. The processes share
 * only the database file: none waits in between, and what was looked up is not looked up again.
 *
 * `npm run build`, set OPENAI_API_KEY or OPENAI_BASE_URL, then
 * `node examples/resume.ts start trip "Plan two days in Oslo"` and, whenever you like, `node examples/resume.ts resume trip`
 */
import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect, Layer, Schema, Stream } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, Fiberloop, ModelOpenAi, type RunError, RunEvent, RunResult, SessionStoreSqlite } from "fiberloop"

const Guide = Toolkit.make(
  Tool.make("look_up", {
    description: "What the guide book says of a place",
    parameters: Schema.Struct({ place: Schema.String }),
    success: Schema.String
  }).annotate(Tool.Readonly, true)
)

const GuideLive = Guide.toLayer({
  look_up: ({ place }) => Effect.as(Console.error(`(reading about ${place})`), `${place} is open from 10 to 17.`)
})

export class Planner extends Agent.Service<Planner>()("resume/Planner", {
  instructions: "Plan a trip. Look up every place you name.",
  toolkit: Guide,
  limits: { maxTurns: 2 }
}) {}

/** Prints the answer and how the run ended. */
const show = (events: Stream.Stream<RunEvent.RunEvent, RunError.RunError>) =>
  Stream.runForEach(events, (event) => {
    if (event._tag === "AssistantMessage") {
      return Effect.forEach(
        event.message.content,
        (part) => part.type === "text" ? Console.log(part.text) : Effect.void
      )
    }
    return RunEvent.isEnd(event) ? Console.log(RunResult.explain(event)) : Effect.void
  })

const program = Effect.gen(function*() {
  const planner = yield* Planner
  const [what, sessionId = "trip", input = "Plan two days in Oslo."] = process.argv.slice(2)
  yield* show(
    what === "resume"
      ? planner.resume({ sessionId, limits: { maxTurns: 20 } })
      : planner.stream({ sessionId, input })
  )
}).pipe(Effect.catchTag("NonRetryableError", (error) => Console.error(error.message)))

const Live = Planner.layer.pipe(Layer.provide([
  GuideLive,
  Fiberloop.layer,
  SessionStoreSqlite.layer({ filename: process.env.RESUME_DB ?? "resume.db" }),
  ModelOpenAi.layer({ model: process.env.FIBERLOOP_MODEL ?? "gpt-5.5" })
]))

if (process.argv[1] === import.meta.filename) NodeRuntime.runMain(Effect.provide(program, Live))
