/**
 * A conversation in the terminal: every line is a message to one session, and the answer streams as it comes. Ctrl-C during
 * an answer aborts it, and the session takes the next line at once. At the prompt, Ctrl-C leaves the chat, and so does the end
 * of the input. The session is kept in `chat.db`, so the next start goes on where this one stopped. All input and output goes
 * through effect's `Stdio`, so the test needs no terminal.
 *
 * `npm run build`, set OPENAI_API_KEY or OPENAI_BASE_URL, then `node examples/chat.ts`
 */
import { NodeStdio } from "@effect/platform-node"
import { Effect, Layer, Stdio, Stream } from "effect"
import { Agent, Fiberloop, ModelOpenAi, RunEvents, SessionStoreSqlite } from "fiberloop"

export class Companion extends Agent.Service<Companion>()("chat/Companion", {
  instructions: "You chat in a terminal. Be brief, and use no Markdown."
}) {}

/** Talks until the input ends. `ctrlC` completes when the answer that is streaming is no longer wanted. */
export const chat = Effect.fnUntraced(function*(options: {
  readonly sessionId: string
  readonly ctrlC: Effect.Effect<void>
}) {
  const companion = yield* Companion
  const stdio = yield* Stdio.Stdio
  const say = (text: string) => Stream.run(Stream.make(text), stdio.stdout())

  const answer = (input: string) =>
    companion.stream({ sessionId: options.sessionId, input }).pipe(
      RunEvents.text,
      Stream.run(stdio.stdout()),
      Effect.catchTags({
        RetryableError: (error) => say(`(${error.message}: try again later)`),
        NonRetryableError: (error) => say(`(${error.message})`)
      })
    )

  yield* say("> ")
  yield* stdio.stdin.pipe(
    Stream.decodeText,
    Stream.splitLines,
    Stream.runForEach((line) =>
      (line.trim() === "" ? Effect.void : answer(line)).pipe(
        // leaving a stream aborts its run, and waits until that has ended
        Effect.raceFirst(Effect.andThen(options.ctrlC, say(" (aborted)"))),
        Effect.andThen(say("\n> "))
      )
    )
  )
})

/** Completes at the next Ctrl-C; while nobody waits for it, Ctrl-C ends the process as always. */
const sigint = Effect.callback<void>((resume) => {
  const onSignal = () => resume(Effect.void)
  process.once("SIGINT", onSignal)
  return Effect.sync(() => process.off("SIGINT", onSignal))
})

if (process.argv[1] === import.meta.filename) {
  const Live = Companion.layer.pipe(Layer.provide([
    Fiberloop.layer,
    SessionStoreSqlite.layer({ filename: process.env.CHAT_DB ?? "chat.db" }),
    ModelOpenAi.layer({ model: process.env.FIBERLOOP_MODEL ?? "gpt-5.5" })
  ]))
  // not runMain, for which Ctrl-C ends the whole program
  await Effect.runPromise(Effect.provide(chat({ sessionId: "chat", ctrlC: sigint }), [Live, NodeStdio.layer]))
}
