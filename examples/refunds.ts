/**
 * A support agent that refunds money, and asks a person first when the amount is large. The question waits in the session's log,
 * not in a process: `ask` ends as soon as it is stored; `approve` or `deny` may come days later from anywhere and drives nothing;
 * `resume` goes on. What was approved is paid once, whatever crashes in between: the till recognises a payment by its key.
 *
 * `npm run build`, set OPENAI_API_KEY or OPENAI_BASE_URL, then, each in a process of its own:
 * `node examples/refunds.ts ask lamp "My lamp (order 7, 80 euros) arrived broken. I want my money back."`
 * `node examples/refunds.ts approve lamp`, or `node examples/refunds.ts deny lamp "Ask for a photo first."`
 * `node examples/refunds.ts resume lamp`
 */
import { NodeFileSystem, NodeRuntime } from "@effect/platform-node"
import { Console, Context, Effect, FileSystem, Layer, Schema, Stream } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, Fiberloop, ModelOpenAi, RunEvent, RunResult, SessionStoreSqlite, ToolCall } from "fiberloop"

const Payment = Schema.Struct({ key: Schema.String, order: Schema.String, euros: Schema.Finite })
const Line = Schema.fromJsonString(Payment)

/** Where money leaves the house: a file with one payment per line. */
export class Till extends Context.Service<Till, {
  /** Pays once for each key; returns the receipt. */
  readonly pay: (payment: typeof Payment.Type) => Effect.Effect<string>
}>()("refunds/Till") {
  static readonly layer = (file: string) =>
    Layer.effect(
      Till,
      Effect.map(FileSystem.FileSystem, (fs) => ({
        pay: Effect.fnUntraced(function*(payment: typeof Payment.Type) {
          const text = yield* Effect.orElseSucceed(fs.readFileString(file), () => "")
          const lines = text.split("\n").filter((line) => line !== "")
          const paid = yield* Effect.forEach(lines, (line) => Schema.decodeEffect(Line)(line))
          const place = paid.findIndex(({ key }) => key === payment.key)
          if (place >= 0) return `receipt ${place + 1}`
          yield* fs.writeFileString(file, `${yield* Schema.encodeEffect(Line)(payment)}\n`, { flag: "a" })
          return `receipt ${lines.length + 1}`
        }, Effect.orDie)
      }))
    )
}

const Refunds = Toolkit.make(
  Tool.make("refund", {
    description: "Pays money back for an order",
    parameters: Schema.Struct({ order: Schema.String, euros: Schema.Finite }),
    success: Schema.String,
    dependencies: [ToolCall],
    needsApproval: ({ euros }) => euros > 20
  }).annotate(Tool.Idempotent, true)
)

const RefundsLive = Refunds.toLayer(Effect.map(Till, (till) => ({
  refund: Effect.fnUntraced(function*({ euros, order }) {
    const { idempotencyKey } = yield* ToolCall
    return yield* till.pay({ key: idempotencyKey, order, euros })
  })
})))

export class Support extends Agent.Service<Support>()("refunds/Support", {
  instructions: "You answer customers of a lamp shop. Refund what arrived broken, and say so in a sentence.",
  toolkit: Refunds,
  // after two days nobody means it any more, so the call is denied
  toolPolicy: { approvalTimeout: 48 * 3_600_000 }
}) {}

export const SupportLive = Support.layer.pipe(Layer.provide([RefundsLive, Fiberloop.layer]))

/** Answers every question of a session. */
export const decide = Effect.fnUntraced(function*(sessionId: string, approved: boolean, reason?: string) {
  const support = yield* Support
  for (const { id, params, tool } of yield* support.approvals(sessionId)) {
    yield* support.decide({ sessionId, approvalId: id, approved, by: "supervisor", reason })
    yield* Console.log(`${approved ? "approved" : "denied"}: ${tool} ${JSON.stringify(params)}`)
  }
})

/** Shows what to say to the customer, and how the run ended. */
const show = (event: RunEvent.RunEvent) => {
  if (event._tag === "AssistantMessage") {
    return Effect.forEach(event.message.content, (part) => part.type === "text" ? Console.log(part.text) : Effect.void)
  }
  return RunEvent.isEnd(event) ? Console.log(RunResult.explain(event)) : Effect.void
}

const program = Effect.gen(function*() {
  const support = yield* Support
  const [what, sessionId = "lamp", words] = process.argv.slice(2)
  switch (what) {
    case "approve":
      return yield* decide(sessionId, true)
    case "deny":
      return yield* decide(sessionId, false, words)
    case "resume":
      return yield* Stream.runForEach(support.resume({ sessionId }), show)
    default:
      return yield* Stream.runForEach(support.stream({ sessionId, input: words ?? "My lamp arrived broken." }), show)
  }
}).pipe(Effect.catchTag("NonRetryableError", (error) => Console.error(error.message)))

const folder = process.env.REFUNDS_FOLDER ?? "."

const Live = SupportLive.pipe(Layer.provide([
  Till.layer(`${folder}/refunds.jsonl`),
  SessionStoreSqlite.layer({ filename: `${folder}/refunds.db` }),
  ModelOpenAi.layer({ model: process.env.FIBERLOOP_MODEL ?? "gpt-5.5" })
])).pipe(Layer.provide(NodeFileSystem.layer))

if (process.argv[1] === import.meta.filename) NodeRuntime.runMain(Effect.provide(program, Live))
