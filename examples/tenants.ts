/**
 * One agent for many tenants: each one's spending is counted, in a ledger by an observer and in metrics by an attribute.
 * The agent knows nothing of this: the caller says for which tenant it runs.
 *
 * `npm run build`, set OPENAI_API_KEY or OPENAI_BASE_URL, then `node examples/tenants.ts acme "What is a lamp?"`
 */
import { NodeRuntime } from "@effect/platform-node"
import { Console, Context, Effect, Layer, Metric } from "effect"
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

/**
 * Counts each model call, including failed attempts, those that were cut off, and compactions; no event comes twice. What a process
 * had not counted when it died, and manual compactions, are only in the log: a bill must be summed from that, without what forks
 * begin with, which is the log of another session.
 */
const bills = (ledger: Ledger["Service"], tenant: string): Observer => ({
  name: "bills",
  observe: ({ events }) =>
    Effect.forEach(events, (event) => {
      switch (event._tag) {
        case "AssistantMessage":
        case "AttemptDiscarded":
        case "ContextCompacted":
        case "CompactionDiscarded":
          return ledger.add(tenant, event.usage.cost ?? 0)
        // what an answer that was cut off had cost by then
        case "RunLimited":
        case "RunFailed":
        case "RunAborted":
          return ledger.add(tenant, event.cutOff?.usage.cost ?? 0)
        default:
          return Effect.void
      }
    }, { discard: true })
})

export class Assistant extends Agent.Service<Assistant>()("tenants/Assistant", {
  instructions: "Be brief.",
  limits: { maxCost: 0.5 }
}) {}

/** Runs the agent for a tenant. A tool's sub-agents count too: they inherit the caller's observers and attributes. */
export const ask = Effect.fnUntraced(function*(tenant: string, input: string) {
  const [assistant, ledger] = [yield* Assistant, yield* Ledger]
  return yield* assistant.run({ sessionId: `${tenant}/${crypto.randomUUID()}`, input }).pipe(
    Effect.provideService(Observers, [bills(ledger, tenant)]),
    // on every metric of the run; each further tenant adds a series to each metric
    Effect.provideService(Metric.CurrentMetricAttributes, { tenant }),
    Effect.withSpan("ask", { attributes: { tenant } })
  )
})

export const prices = Layer.succeed(Prices.Prices, Prices.table({ "gpt-5.5": { input: 1.25, output: 10 } }))

/** Closing it waits for what the observers have yet to count. */
export const AssistantLive = Assistant.layer.pipe(Layer.provide([Fiberloop.layer, prices]))

if (process.argv[1] === import.meta.filename) {
  const [tenant = "acme", input = "What is a lamp?"] = process.argv.slice(2)
  const Live = AssistantLive.pipe(Layer.provide([SessionStoreMemory.layer, ModelOpenAi.layer({ model: "gpt-5.5" })]))
  const program = Effect.gen(function*() {
    const { text } = yield* Effect.provide(ask(tenant, input), Live)
    yield* Console.log(`${text}\n\n${tenant} has spent ${yield* (yield* Ledger).of(tenant)}`)
  })
  NodeRuntime.runMain(Effect.provide(program, Ledger.layer))
}
