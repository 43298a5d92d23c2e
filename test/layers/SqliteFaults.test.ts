/** Agents whose session database really breaks under them, and then works again. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { chmodSync, existsSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import * as SessionStoreSqlite from "../../src/layers/SessionStoreSqlite.ts"
import * as LogRules from "../../src/testing/LogRules.ts"
import { withPermissions } from "../cli/tools/files/Sandbox.ts"
import { temporaryFolder } from "../support/Processes.ts"
import { faults } from "../support/SqliteFaults.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

const open = Effect.fnUntraced(function*(file: string, tool: TestAgent.Handler = () => Effect.succeed("done")) {
  const store = yield* SessionStoreSqlite.make({ filename: file })
  const { agent } = yield* TestAgent.make(TestAgent.twoCallsUnlessGreeted, { store: TestStore.over(store), tool })
  return { agent, store }
})

/** Runs an effect while virtual time passes until it ends; time starts after `begun`. */
const inTime = <A, E>(self: Effect.Effect<A, E>, begun: Effect.Effect<unknown> = Effect.void): Effect.Effect<A, E> =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkChild(self)
    yield* begun
    while (fiber.pollUnsafe() === undefined) yield* TestClock.adjust("1 second")
    return yield* Fiber.join(fiber)
  })

const hello = { sessionId: "s", input: "hello" }

for (const [name, fault] of Object.entries(faults)) {
  describe(`a database that is ${name}`, () => {
    it.effect("ends the run in its tool round, starts no further call, and takes a message once it is back", () =>
      Effect.gen(function*() {
        const file = join(yield* temporaryFolder, "s.db")
        const scope = yield* Scope.make()
        const begun = yield* Deferred.make<Effect.Effect<void>>()
        const ran: Array<number> = []
        const { agent } = yield* Scope.provide(
          open(file, ({ n }) =>
            Effect.gen(function*() {
              ran.push(n)
              yield* Deferred.succeed(begun, yield* Scope.provide(fault.begin(file), scope))
              return "done"
            })),
          scope
        )
        const { reason } = yield* Effect.flip(inTime(agent.run({ sessionId: "s", input: "go" }), Deferred.await(begun)))
        assert.strictEqual(reason._tag, fault.reason)
        assert.include(reason.message, `"${file}"`)
        assert.include(reason.message, fault.says)
        assert.notInclude(reason.message, "\n")
        assert.deepStrictEqual(ran, [1])

        yield* Effect.flatten(Deferred.await(begun))
        // if the session could not be given back, its lease runs out
        yield* TestClock.adjust("31 seconds")
        assert.strictEqual((yield* inTime(agent.run(hello)))._tag, "Completed")
        yield* inTime(Scope.close(scope, Exit.void))
        const again = yield* open(file)
        assert.strictEqual((yield* inTime(again.agent.run(hello)))._tag, "Completed")
        assert.deepStrictEqual(LogRules.violations(yield* Stream.runCollect(again.store.read("s"))), [])
        assert.deepStrictEqual(ran, [1])
      }))

    it.effect("starts no run until it is back", () =>
      Effect.gen(function*() {
        const file = join(yield* temporaryFolder, "s.db")
        const { agent, store } = yield* open(file)
        yield* agent.run(hello)
        const end = yield* fault.begin(file)
        const { reason } = yield* Effect.flip(inTime(agent.run(hello)))
        assert.strictEqual(reason._tag, fault.reason)
        yield* end
        assert.strictEqual((yield* inTime(agent.run(hello)))._tag, "Completed")
        const log = yield* Stream.runCollect(store.read("s"))
        assert.deepStrictEqual(LogRules.violations(log), [])
        assert.strictEqual(log.filter(({ _tag }) => _tag === "RunStarted").length, 2)
      }))
  })
}

it.effect("a database of another program that replaces an open one is left unchanged", () =>
  Effect.gen(function*() {
    const file = join(yield* temporaryFolder, "s.db")
    yield* Effect.scoped(Effect.gen(function*() {
      const { agent } = yield* open(file)
      yield* agent.run(hello)
      yield* faults["replaced by a database of another program"]!.begin(file)
      yield* Effect.flip(agent.run(hello))
    }))
    const db = new DatabaseSync(file)
    const tables = db.prepare("SELECT name FROM sqlite_schema").all()
    db.close()
    assert.deepStrictEqual(tables.map(({ name }) => name), ["customers"])
    assert.isTrue(existsSync(`${file}.old`))
  }))

it.effect("a database that was opened while read-only takes a message once it is writable again", () =>
  Effect.gen(function*() {
    const folder = yield* temporaryFolder
    chmodSync(folder, 0o777)
    const file = join(folder, "s.db")
    const greet = Effect.scoped(Effect.flatMap(open(file), ({ agent }) => agent.run(hello)))
    yield* withPermissions(Effect.gen(function*() {
      yield* greet
      chmodSync(file, 0o444)
      const { reason } = yield* Effect.flip(greet)
      assert.strictEqual(reason._tag, "StoreRefused")
      assert.include(reason.message, `"${file}" is read-only`)
      assert.isTrue(existsSync(`${file}-shm`))
      chmodSync(file, 0o644)
      assert.strictEqual((yield* greet)._tag, "Completed")
      const { store } = yield* open(file)
      assert.deepStrictEqual(LogRules.violations(yield* Stream.runCollect(store.read("s"))), [])
    }))
  }).pipe(Effect.scoped))
