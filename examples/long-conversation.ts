/**
 * A conversation that outgrows its model: an agent reads a long manual page by page, and answers questions about it for weeks
 * in one session. Before a request exceeds 8,000 tokens, old pages become notes, which costs nothing, and the model can read
 * those pages again. If that is not enough, a cheaper model sums up the older part. The latest question is always sent word for
 * word, and the log keeps everything. `lastTen` is a strategy of your own. The test scripts both models.
 *
 * `npm run build`, set OPENAI_API_KEY or OPENAI_BASE_URL, then `node examples/long-conversation.ts "What is on page 3?"`,
 * again and again; `--compact` makes the context smaller at once
 */
import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect, Layer, Schema, Stream } from "effect"
import { Tool, Toolkit } from "effect/ai"
import {
  Agent,
  ContextChain,
  ContextManager,
  ContextPruning,
  ContextSummary,
  type Model,
  ModelOpenAi,
  RunEvents,
  RunsLocal,
  SessionStoreSqlite,
  ToolExecutorToolkit,
  Transcript,
  Usage
} from "fiberloop"
import { CompactionError } from "fiberloop/services/ContextManager"

export const Manual = Toolkit.make(
  Tool.make("read_page", { parameters: Schema.Struct({ page: Schema.Int }), success: Schema.String })
    .annotate(Tool.Readonly, true)
)

/** In your application, files or a database. */
export const ManualLive = Manual.toLayer({
  read_page: ({ page }) =>
    Effect.succeed(
      Array.from({ length: 300 }, (_, line) => `${page}.${line} Turn the screw ${page + line} times.`).join("\n")
    )
})

export class Reader extends Agent.Service<Reader>()("manual/Reader", {
  instructions: "You answer questions about a manual. Read the pages that you need.",
  toolkit: Manual
}) {}

const maxTokens = 8_000

/** Removes old tool output first; then `cheap` sums up, with its own price and its own window. */
export const condensedBy = <E>(cheap: Layer.Layer<Model, E>): Layer.Layer<ContextManager, E> =>
  ContextChain.layer(
    ContextPruning.layerWith({ maxTokens }),
    ContextSummary.layerWith({ maxTokens, budget: 500 }).pipe(Layer.provide(cheap))
  )

/** Keeps the last ten questions and what followed them, once a conversation has more than 60 messages. */
export const lastTen = Layer.succeed(ContextManager, {
  plan: (view) => {
    const isTooMuch = view.force !== undefined || (view.inARow === 0 && Transcript.size(view.transcript) > 60)
    return isTooMuch && endOfOlder(view.transcript) !== undefined
      ? { _tag: "Compact", request: view }
      : { _tag: "Send" }
  },
  compact: ({ transcript }) => {
    const upTo = endOfOlder(transcript)
    return upTo === undefined
      ? Effect.fail(new CompactionError({ message: "there are no more than ten questions" }))
      : Effect.succeed({ strategy: "lastTen", upTo, replacement: [], usage: Usage.zero })
  }
})

/** The place in the log up to which messages are left out; undefined where none are. */
const endOfOlder = (transcript: Transcript.Transcript): number | undefined => {
  const questions = Transcript.entries(transcript).filter(({ message }) => message.role === "user")
  return questions.length > 10 ? questions.at(-10)!.seq - 1 : undefined
}

export const ReaderLive = Reader.layer.pipe(Layer.provide([ManualLive, ToolExecutorToolkit.layer, RunsLocal.layer]))

/** Answers in the session "manual", and reports each compaction on the way. */
export const ask = Effect.fnUntraced(function*(input: string) {
  const shortened: Array<string> = []
  const answer = yield* (yield* Reader).stream({ sessionId: "manual", input }).pipe(
    Stream.tap((event) =>
      Effect.sync(() => {
        if (event._tag !== "ContextCompacted") return
        shortened.push(`${event.strategy}: ${event.tokens?.before} to ${event.tokens?.after} tokens`)
      })
    ),
    RunEvents.text,
    Stream.mkString
  )
  return { answer, shortened }
})

/** Compacts by hand, between two questions; says so when nothing can be left out. */
export const compact = Effect.gen(function*() {
  const { strategy, tokens } = yield* (yield* Reader).compact("manual")
  return `${strategy}: ${tokens.before} to ${tokens.after} tokens`
}).pipe(Effect.catchReasons("NonRetryableError", {
  CompactionFailed: ({ message }) => Effect.succeed(message),
  SessionNotFound: () => Effect.succeed("nothing was asked yet")
}))

if (process.argv[1] === import.meta.filename) {
  const model = process.env.FIBERLOOP_MODEL ?? "gpt-5.5"
  const Live = ReaderLive.pipe(Layer.provide([
    condensedBy(ModelOpenAi.layer({ model: process.env.CHEAP_MODEL ?? model })),
    SessionStoreSqlite.layer({ filename: process.env.MANUAL_DB ?? "manual.db" }),
    ModelOpenAi.layer({ model })
  ]))
  const input = process.argv[2] ?? "What is on page 3?"
  const told = input === "--compact"
    ? compact
    : Effect.map(ask(input), ({ answer, shortened }) => [...shortened, answer].join("\n"))
  NodeRuntime.runMain(told.pipe(Effect.flatMap(Console.log), Effect.provide(Live)))
}
