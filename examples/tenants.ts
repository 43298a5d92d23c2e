/**
 * One agent for many tenants: each one's spending is counted, in a ledger and in a metric, by an observer of the agent's layer.
 * The tenant is in the run's `data`, which is in its log: so what a run costs is counted wherever it goes on, here in the worker
 * that continues it once a person has said yes. What is provided around a call (`Effect.provideService`) is gone by then.
 *
 * `npm run build`, set OPENAI_API_KEY or OPENAI_BASE_URL, then `node examples/tenants.ts acme "What is a lamp?"`
 */
import { NodeRuntime } from "@effect/platform-node"
import { Console, Context, Effect, Layer, Metric, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, Fiberloop, ModelOpenAi, type Observer, Observers, Prices, SessionStoreMemory } from "fiberloop"

/** What tenants have spent, in the unit of the prices. */
export class Ledger extends Context.Service<Ledger, {
  readonly add: (tenant: string, cost: number) => Effect.Effect<void>
  readonly of: (tenant: string) => Effect.Effect<number>
}>()("tenants/Ledger") {
  static readonly layer = Layer.sync(Ledger, () => {
    const spent = new Map<string, number>()
    return {
      add: (tenant, cost) => Effect.sync(() => void spent.set(tenant, (spent.get(tenant) ?? 0) + cost)),
      of: (tenant) => Effect.sync(() => spent.get(tenant) ?? 0)
    }
  })
}

/** The `data` of every run here. A handler that runs another agent passes its own call's `data` on, or that run is nobody's. */
const Data = Schema.Struct({ tenant: Schema.String })
const tenantOf = (data: unknown) => Schema.is(Data)(data) ? data.tenant : "nobody"

/** Each further tenant adds a series. */
const costs = Metric.counter("tenants.cost", { incremental: true })

/**
 * Counts each model call, including failed attempts, those that were cut off, and compactions; no event comes twice. What a process
 * had not counted when it died, and manual compactions, are only in the log: a bill must be summed from that, without what forks
 * begin with, which is the log of another session.
 */
const bills = (ledger: Ledger["Service"]): Observer => ({
  name: "bills",
  observe: ({ data, events }) => {
    const tenant = tenantOf(data)
    const add = (cost = 0) =>
      Effect.andThen(ledger.add(tenant, cost), Metric.update(Metric.withAttributes(costs, { tenant }), cost))
    return Effect.forEach(events, (event) => {
      switch (event._tag) {
        case "AssistantMessage":
        case "AttemptDiscarded":
        case "ContextCompacted":
        case "CompactionDiscarded":
          return add(event.usage.cost)
        // what an answer that was cut off had cost by then
        case "RunLimited":
        case "RunFailed":
        case "RunAborted":
          return add(event.cutOff?.usage.cost)
        default:
          return Effect.void
      }
    }, { discard: true })
  }
})

const Shop = Toolkit.make(Tool.make("order", {
  description: "Orders a thing",
  parameters: Schema.Struct({ thing: Schema.String }),
  success: Schema.String,
  needsApproval: true
}))

const ShopLive = Shop.toLayer({ order: ({ thing }) => Effect.succeed(`a ${thing} is on its way`) })

export class Assistant extends Agent.Service<Assistant>()("tenants/Assistant", {
  instructions: "Be brief.",
  toolkit: Shop,
  limits: { maxCost: 0.5 }
}) {}

/** Runs the agent for a tenant. A span around the call is the parent of the run's first one. */
export const ask = Effect.fnUntraced(function*(tenant: string, input: string) {
  const assistant = yield* Assistant
  return yield* Effect.withSpan(
    assistant.run({ sessionId: `${tenant}/${crypto.randomUUID()}`, input, data: { tenant } }),
    "ask",
    { attributes: { tenant } }
  )
})

const prices = Layer.succeed(Prices.Prices, Prices.table({ "gpt-5.5": { input: 1.25, output: 10 } }))

const billed = Layer.effect(Observers, Effect.map(Ledger, (ledger) => [bills(ledger)]))

/** Closing it waits for what the observers have yet to count. */
export const AssistantLive = Assistant.layer.pipe(Layer.provide([ShopLive, Fiberloop.layer, prices, billed]))

if (process.argv[1] === import.meta.filename) {
  const [tenant = "acme", input = "What is a lamp?"] = process.argv.slice(2)
  const Live = AssistantLive.pipe(Layer.provide([SessionStoreMemory.layer, ModelOpenAi.layer({ model: "gpt-5.5" })]))
  const program = Effect.gen(function*() {
    const { explain, text } = yield* Effect.provide(ask(tenant, input), Live)
    yield* Console.log(`${text}\n\n${explain}\n${tenant} has spent ${yield* (yield* Ledger).of(tenant)}`)
  })
  NodeRuntime.runMain(Effect.provide(program, Ledger.layer))
}
