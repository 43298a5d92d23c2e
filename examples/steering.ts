/**
 * A message for a run that is at work: it is stored at once and read before the next model call; if the run ends first, it
 * becomes the session's next message; if its process shuts down first, it waits for whoever goes on with the run. It is
 * answered once. The sender may leave: that withdraws nothing.
 *
 * `npm run build`, set OPENAI_API_KEY or OPENAI_BASE_URL, then `node examples/steering.ts`: whatever you type while it
 * writes changes what comes next.
 */
import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect, Layer, Schema, Stream } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, Fiberloop, ModelOpenAi, RunEvents, SessionStoreMemory } from "fiberloop"
import { createInterface } from "node:readline"

export const Desk = Toolkit.make(
  Tool.make("write_chapter", {
    description: "Writes the next chapter",
    parameters: Schema.Struct({ text: Schema.String }),
    success: Schema.String
  })
)

const DeskLive = Desk.toLayer({ write_chapter: ({ text }) => Effect.as(Console.log(`\n${text}\n`), "Written.") })

export class Writer extends Agent.Service<Writer>()("steering/Writer", {
  instructions: "Write a story, chapter by chapter. The user may say something in between: follow it from then on.",
  toolkit: Desk
}) {}

/** Says something to a run, or to its session once the run is over; returns the run that answers. */
export const say = Effect.fn("say")(function*(run: Agent.Run<string>, input: string) {
  const delivery = yield* run.steer(input)
  // what a shutdown kept is answered by whoever goes on with the run
  if (delivery._tag !== "NotDelivered") return run
  const writer = yield* Writer
  return yield* writer.start({ sessionId: run.sessionId, input })
})

const lines = Stream.fromAsyncIterable(createInterface({ input: process.stdin }), (error) => error).pipe(Stream.orDie)

const program = Effect.gen(function*() {
  const writer = yield* Writer
  const run = yield* writer.start({ input: "A story of five chapters about a lighthouse." })
  const listening = Stream.runForEach(lines, (line) => Effect.forkScoped(say(run, line)))
  yield* Effect.forkScoped(listening)
  yield* run.events.pipe(RunEvents.text, Stream.runForEach((text) => Effect.sync(() => process.stdout.write(text))))
}).pipe(Effect.scoped)

const Live = Writer.layer.pipe(Layer.provide([
  DeskLive,
  Fiberloop.layer,
  SessionStoreMemory.layer,
  ModelOpenAi.layer({ model: process.env.FIBERLOOP_MODEL ?? "gpt-5.5" })
]))

if (process.argv[1] === import.meta.filename) NodeRuntime.runMain(Effect.provide(program, Live))
