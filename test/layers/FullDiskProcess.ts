/**
 * An agent whose disk fills up in the midst of a tool round, then has room again: started with the file of its sessions and how
 * the disk fills up. Prints the outcome as JSON.
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as OwnerLiveness from "../../src/layers/OwnerLiveness.ts"
import * as SessionStoreSqlite from "../../src/layers/SessionStoreSqlite.ts"
import * as LogRules from "../../src/testing/LogRules.ts"
import * as DiskFilling from "../support/DiskFilling.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

export interface Report {
  readonly reason: { readonly _tag: string; readonly message: string }
  /** the calls that ran */
  readonly ran: ReadonlyArray<number>
  /** the outcome of "hello", from the same store and from a new one */
  readonly said: readonly [string, string]
  readonly violations: ReadonlyArray<string>
}

const [file = "", how = ""] = process.argv.slice(2)
const hello = { sessionId: "s", input: "hello" }
const ran: Array<number> = []
let free = Effect.void

const open = Effect.gen(function*() {
  const store = yield* SessionStoreSqlite.make({ filename: file })
  const { agent } = yield* TestAgent.make(TestAgent.twoCallsUnlessGreeted, {
    store: TestStore.over(store),
    tool: ({ n }) =>
      Effect.gen(function*() {
        ran.push(n)
        free = yield* DiskFilling.fill(how as DiskFilling.How, file)
        return "x".repeat(20_000)
      })
  })
  return { agent, store }
})

const first = Effect.scoped(Effect.gen(function*() {
  const { agent } = yield* open
  yield* agent.run(hello)
  const { reason } = yield* Effect.flip(agent.run({ sessionId: "s", input: "go" }))
  yield* free
  return { reason, said: (yield* agent.run(hello))._tag }
}))

const again = Effect.scoped(Effect.gen(function*() {
  const { agent, store } = yield* open
  const said = (yield* agent.run(hello))._tag
  return { said, violations: LogRules.violations(yield* Stream.runCollect(store.read("s"))) }
}))

const report = Effect.gen(function*() {
  const before = yield* first
  const after = yield* again
  return { reason: before.reason, ran, said: [before.said, after.said], violations: after.violations } satisfies Report
}).pipe(
  // a session that could not be given back counts as unowned
  Effect.provideService(OwnerLiveness.OwnerLiveness, {
    ...Effect.runSync(OwnerLiveness.OwnerLiveness),
    isDead: () => true
  })
)

process.stdout.write(JSON.stringify(await Effect.runPromise(report)))
