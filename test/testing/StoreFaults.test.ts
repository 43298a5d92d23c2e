/** A store whose operations fail in turn: everything that can be asked of it counts as one. */
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as SessionStoreMemory from "../../src/layers/SessionStoreMemory.ts"
import * as ToolExecutorToolkit from "../../src/layers/ToolExecutorToolkit.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"
import { completed, notice, notices, open, readAll, seqs, started, write } from "../../src/testing/sessions/Fixtures.ts"
import * as StoreFaults from "../../src/testing/StoreFaults.ts"
import * as ClassStore from "../support/ClassStore.ts"

const belowOf = (store: Layer.Layer<SessionStore.SessionStore>) => Layer.mergeAll(store, ToolExecutorToolkit.layer)

const stores = [["literals", SessionStoreMemory.layer], ["classes", ClassStore.layer]] as const

it.effect.each(stores.flatMap(([name, store]) => [1, 2, 3].map((at) => ({ name, store, at }))))(
  "over $name, operation $at fails: an abort is asked for, passed on, or neither",
  ({ at, store }) =>
    Effect.gen(function*() {
      const faults = StoreFaults.make("down", at)
      let heard = 0
      const asked = yield* Effect.gen(function*() {
        yield* open("s", { onAbortAsked: Effect.sync(() => void heard++) })
        const store = yield* SessionStore.SessionStore
        return yield* store.askToAbort!("s", "run-1")
      }).pipe(Effect.scoped, Effect.provide(faults.around(belowOf(store))), Effect.exit)
      yield* faults.clear
      assert.deepStrictEqual([asked._tag, heard], at < 3 ? ["Failure", 0] : ["Success", 1])
    })
)

it.effect("a session of a class keeps its id and its head", () =>
  Effect.gen(function*() {
    const faults = StoreFaults.make("down", 100)
    const found = yield* Effect.gen(function*() {
      const session = yield* open("s")
      yield* session.append(notices(1, 2))
      return [session.sessionId, session.head()]
    }).pipe(Effect.scoped, Effect.provide(faults.around(belowOf(ClassStore.layer))))
    assert.deepStrictEqual(found, ["s", 2])
  }))

/** Two events in a store whose second operation goes wrong; the first opens their session. */
const faulty = Effect.fnUntraced(function*(fault: StoreFaults.Fault) {
  const below = Layer.succeed(SessionStore.SessionStore, yield* SessionStoreMemory.make)
  yield* Effect.provide(write("s", notices(1, 2)), below)
  const faults = StoreFaults.make(fault, 2)
  const context = yield* Layer.build(faults.around(belowOf(below)))
  const session = yield* Effect.provide(open("s"), context)
  const store = Context.get(context, SessionStore.SessionStore)
  return { faults, store, session, held: Effect.map(Effect.provide(readAll("s"), below), seqs) }
})

const reason = (exit: Exit.Exit<unknown, SessionStore.StoreError>) =>
  Exit.isSuccess(exit) ? [] : [Option.getOrUndefined(Exit.findErrorOption(exit))?.reason._tag]

describe("an append fails, and", () => {
  it.effect.each<readonly [StoreFaults.Fault, ReadonlyArray<number>, ReadonlyArray<string>, ReadonlyArray<number>]>([
    ["fails", [1, 2], [], [1, 2, 3]],
    ["answerLost", [1, 2, 3], [], [1, 2, 3, 4]],
    ["down", [1, 2], ["StoreUnavailable"], [1, 2]],
    ["answerLostThenDown", [1, 2, 3], ["StoreUnavailable"], [1, 2, 3]]
  ])(
    "%s: the store then holds %o; the next one has %o, and leaves %o",
    ([fault, holds, next, left]) =>
      Effect.gen(function*() {
        const { faults, held, session } = yield* faulty(fault)
        const append = Effect.suspend(() => session.append(notices(session.head() + 1, session.head() + 1)))
        assert.deepStrictEqual(reason(yield* Effect.exit(append)), ["StoreUnavailable"])
        assert.deepStrictEqual([yield* held, faults.acknowledged()], [holds, []])
        assert.deepStrictEqual([reason(yield* Effect.exit(append)), yield* held], [next, left])
        yield* faults.clear
        yield* append
        assert.strictEqual((yield* held).length, left.length + 1)
      })
  )
})

/** What arrives of two events, and how that ends where it fails. */
const arrived = Effect.fnUntraced(function*(events: ReturnType<SessionStore.Store["read"]>) {
  const got: Array<unknown> = []
  const exit = yield* Effect.exit(Stream.runForEach(events, ({ seq }) => Effect.sync(() => got.push(seq))))
  return [...got, ...reason(exit)]
})

describe.each(["read", "watch"] as const)("a %s fails, and", (operation) => {
  const whole = [1, 2]
  const lost = operation === "read" ? whole : [1]
  it.effect.each<readonly [StoreFaults.Fault, ReadonlyArray<unknown>, ReadonlyArray<unknown>]>([
    ["fails", [], whole],
    ["answerLost", lost, whole],
    ["down", [], ["StoreUnavailable"]],
    ["answerLostThenDown", lost, ["StoreUnavailable"]]
  ])("%s: the caller has %o of it, and of the next one %o", ([fault, got, next]) =>
    Effect.gen(function*() {
      const { faults, held, store } = yield* faulty(fault)
      // a watch has no end of its own
      const events = operation === "read" ? store.read("s") : Stream.take(store.watch("s"), 2)
      assert.deepStrictEqual(yield* arrived(events), [...got, "StoreUnavailable"])
      assert.deepStrictEqual([yield* arrived(events), yield* held], [next, whole])
      yield* faults.clear
      assert.deepStrictEqual(yield* arrived(events), whole)
    }))
})

describe("the last drive may lack its end", () => {
  it.effect.each<readonly [string, StoreFaults.Fault, number, boolean, boolean]>([
    ["where its session was not opened", "fails", 1, false, true],
    ["where its beginning was not stored", "fails", 2, false, true],
    ["not where something between was not stored", "fails", 3, false, false],
    ["where its end was not stored", "fails", 3, true, true],
    ["where nothing can be stored after it", "down", 3, false, true]
  ])("%s", ([, fault, at, isEnd, mayLack]) =>
    Effect.gen(function*() {
      const faults = StoreFaults.make(fault, at)
      yield* Effect.gen(function*() {
        const session = yield* open("s")
        yield* Effect.ignore(session.append([started({ seq: 1 })]))
        const seq = session.head() + 1
        yield* Effect.ignore(session.append([isEnd ? completed({ seq }) : notice({ seq })]))
      }).pipe(Effect.scoped, Effect.ignore, Effect.provide(faults.around(belowOf(SessionStoreMemory.layer))))
      assert.strictEqual(faults.mayLackEnd(), mayLack)
    }))
})
