/**
 * Two guards around an agent's tools. One removes card numbers from all that a tool says, before it is stored or shown to
 * anyone, the model included. The other denies refunds above what the person at the desk may give: the application names that
 * person in the run's `data`, which no model sees. A guard that fails or is late lets nothing through.
 *
 * `npm run build`, set OPENAI_API_KEY or OPENAI_BASE_URL, then `node examples/hooks.ts "Refund all of order 7"`
 */
import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect, Layer, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, Fiberloop, type Hook, ModelOpenAi, SessionStoreMemory } from "fiberloop"

const Order = Schema.Struct({ id: Schema.Int, euros: Schema.Finite, paidWith: Schema.String })

export const Shop = Toolkit.make(
  Tool.make("get_order", { parameters: Schema.Struct({ id: Schema.Int }), success: Order })
    .annotate(Tool.Readonly, true),
  Tool.make("refund", {
    description: "Pays back some or all of an order",
    parameters: Schema.Struct({ id: Schema.Int, euros: Schema.Finite }),
    success: Schema.String
  })
)

export const ShopLive = Shop.toLayer({
  get_order: ({ id }) => Effect.succeed({ id, euros: 120, paidWith: "card 4111 1111 1111 1111" }),
  refund: ({ euros, id }) => Effect.succeed(`${euros} euros of order ${id} are on their way`)
})

const cardNumber = /\b(?:\d[ -]?){12,15}(\d{4})\b/g

const masked = (value: unknown) => typeof value === "string" ? value.replace(cardNumber, "**** $1") : value

/** Outcomes are plain JSON, including failures: this masks each text in them, and leaves numbers and the names of fields alone. */
export const masksCards: Hook = {
  name: "masks-cards",
  afterToolCall: ({ outcome }) =>
    Effect.sync(() => ({ outcome: JSON.parse(JSON.stringify(outcome), (_, value) => masked(value)) }))
}

const Refund = Schema.Struct({ euros: Schema.Finite })
const Desk = Schema.Struct({ mayRefund: Schema.Finite })

/** Arguments come as the model wrote them: if they do not decode, the guard fails, and the call is denied. */
export const limitsRefunds: Hook = {
  name: "limits-refunds",
  beforeToolCall: Effect.fnUntraced(function*({ data, params, tool }) {
    if (tool !== "refund") return undefined
    const { euros } = yield* Schema.decodeUnknownEffect(Refund)(params)
    const { mayRefund } = yield* Schema.decodeUnknownEffect(Desk)(data)
    return euros <= mayRefund
      ? undefined
      : { _tag: "Deny" as const, reason: `refunds above ${mayRefund} euros need a manager` }
  })
}

export class Clerk extends Agent.Service<Clerk>()("shop/Clerk", {
  instructions: "You help the people at the desk of a shop. Look an order up before you refund it.",
  toolkit: Shop,
  hooks: [limitsRefunds, masksCards]
}) {}

export const ClerkLive = Clerk.layer.pipe(Layer.provide([ShopLive, Fiberloop.layer]))

export const ask = Effect.fnUntraced(function*(input: string, mayRefund: number) {
  const result = yield* (yield* Clerk).run({ input, data: { mayRefund } })
  return result._tag === "Completed" ? result.output : undefined
})

if (process.argv[1] === import.meta.filename) {
  const Live = ClerkLive.pipe(Layer.provide([
    SessionStoreMemory.layer,
    ModelOpenAi.layer({ model: process.env.FIBERLOOP_MODEL ?? "gpt-5.5" })
  ]))
  NodeRuntime.runMain(
    ask(process.argv[2] ?? "Refund all of order 7", 50).pipe(Effect.flatMap(Console.log), Effect.provide(Live))
  )
}
