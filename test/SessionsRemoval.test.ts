/** Deleting a session with those of the agents below its calls. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as SessionStoreMemory from "../src/layers/SessionStoreMemory.ts"
import * as SessionStoreSqlite from "../src/layers/SessionStoreSqlite.ts"
import * as RunError from "../src/run/RunError.ts"
import { SessionStore } from "../src/services/SessionStore.ts"
import * as Sessions from "../src/Sessions.ts"
import { begunFor, completed, notice, started } from "../src/testing/sessions/Fixtures.ts"
import * as Family from "./support/Family.ts"

const put = Effect.fnUntraced(function*(sessionId: string, parent?: string) {
  const session = yield* (yield* SessionStore).open(sessionId, { runId: "run-1", create: true })
  yield* session.append([parent === undefined ? started({ seq: 1 }) : begunFor(parent, { seq: 1 })])
}, Effect.scoped)

const ids = Effect.map(SessionStore.use((store) => store.list()), (infos) => infos.map((info) => info.sessionId).sort())

/** `a` with three levels below it, and `b`, whose names begin alike. */
const families = Effect.gen(function*() {
  yield* put("a")
  yield* put("a1", "a")
  yield* put("a2", "a")
  yield* put("a11", "a1")
  yield* put("a111", "a11")
  yield* put("b")
  yield* put("b1", "b")
})

for (
  const [name, layer] of [["memory", SessionStoreMemory.layer], [
    "SQLite",
    SessionStoreSqlite.layer({ filename: ":memory:" })
  ]] as const
) {
  describe(`in ${name}`, () => {
    it.effect("all levels below a session go with it, and nothing else does", () =>
      Effect.gen(function*() {
        yield* families
        yield* Sessions.remove("a")
        assert.deepStrictEqual(yield* ids, ["b", "b1"])
      }).pipe(Effect.provide(layer)))

    it.effect("of a session in the middle, what is around it stays", () =>
      Effect.gen(function*() {
        yield* families
        yield* Sessions.remove("a1")
        assert.deepStrictEqual(yield* ids, ["a", "a2", "b", "b1"])
      }).pipe(Effect.provide(layer)))

    it.effect("more sessions than a page lists go in one call", () =>
      Effect.gen(function*() {
        yield* put("a")
        for (let n = 0; n < 230; n++) yield* put(`child ${n}`, "a")
        for (let n = 0; n < 230; n++) yield* put(`grandchild ${n}`, `child ${n}`)
        yield* Sessions.remove("a")
        assert.deepStrictEqual(yield* ids, [])
      }).pipe(Effect.provide(layer)))

    it.effect("while the session is in use nothing is deleted", () =>
      Effect.gen(function*() {
        yield* families
        const error = yield* Effect.scoped(Effect.gen(function*() {
          yield* (yield* SessionStore).open("a", { runId: "live", create: false })
          return yield* Effect.flip(Sessions.remove("a"))
        }))
        assert(error.reason._tag === "SessionBusy")
        assert.deepStrictEqual([error.reason.sessionId, error.reason.runId], ["a", "live"])
        assert.lengthOf(yield* ids, 7)
      }).pipe(Effect.provide(layer)))

    it.effect("one below it that is in use stays, is named, and goes when asked again", () =>
      Effect.gen(function*() {
        yield* families
        yield* Effect.scoped(Effect.gen(function*() {
          const session = yield* (yield* SessionStore).open("a1", { runId: "live", create: false })
          const error = yield* Effect.flip(Sessions.remove("a"))
          assert(error.reason._tag === "SessionBusy")
          assert.strictEqual(error.reason.sessionId, "a1")
          assert.deepStrictEqual(yield* ids, ["a1", "b", "b1"])
          yield* session.append([notice({ seq: 2 })])
        }))
        yield* Sessions.remove("a")
        assert.deepStrictEqual(yield* ids, ["b", "b1"])
      }).pipe(Effect.provide(layer)))

    it.effect("one further down that is in use stays with those above it, and all go when asked again", () =>
      Effect.gen(function*() {
        yield* families
        yield* Effect.scoped(Effect.gen(function*() {
          yield* (yield* SessionStore).open("a11", { runId: "live", create: false })
          const error = yield* Effect.flip(Sessions.remove("a"))
          assert(error.reason._tag === "SessionBusy")
          assert.strictEqual(error.reason.sessionId, "a11")
          assert.deepStrictEqual(yield* ids, ["a1", "a11", "b", "b1"])
        }))
        assert.deepStrictEqual((yield* Sessions.remove("a")).toSorted(), ["a1", "a11"])
        assert.deepStrictEqual(yield* ids, ["b", "b1"])
      }).pipe(Effect.provide(layer)))

    it.effect("a session that is not there, with nothing below it, is SessionNotFound", () =>
      Effect.gen(function*() {
        yield* families
        yield* Sessions.remove("a")
        for (const sessionId of ["a", "nobody"]) {
          const { reason } = yield* Effect.flip(Sessions.remove(sessionId))
          assert.deepStrictEqual([reason._tag, "sessionId" in reason && reason.sessionId], [
            "SessionNotFound",
            sessionId
          ])
        }
      }).pipe(Effect.provide(layer)))

    it.effect("a log that says that it works for itself, or for one below it, goes too", () =>
      Effect.gen(function*() {
        yield* put("a", "a1")
        yield* put("a1", "a")
        yield* put("self", "self")
        yield* Sessions.remove("a")
        assert.deepStrictEqual(yield* ids, ["self"])
        yield* Sessions.remove("self")
        assert.deepStrictEqual(yield* ids, [])
      }).pipe(Effect.provide(layer)))

    it.effect("a fork of one below it stays, since no agent began it", () =>
      Effect.gen(function*() {
        const store = yield* SessionStore
        yield* families
        yield* Effect.scoped(Effect.gen(function*() {
          const session = yield* store.open("a1", { runId: "run-1", create: false })
          yield* session.append([completed({ seq: 2 })])
        }))
        yield* store.fork("a1", { to: "copy" })
        yield* Sessions.remove("a")
        assert.deepStrictEqual(yield* ids, ["b", "b1", "copy"])
      }).pipe(Effect.provide(layer)))
  })
}

it.effect("a store that does not know the filter loses no other session", () =>
  Effect.gen(function*() {
    const store = yield* SessionStore
    yield* families
    const list: typeof store.list = (options) => store.list({ ...options, parents: undefined })
    const deaf = { ...store, list }
    yield* Effect.provideService(Sessions.remove("a"), SessionStore, deaf)
    assert.deepStrictEqual(yield* ids, ["b", "b1"])
  }).pipe(Effect.provide(SessionStoreMemory.layer)))

it.effect("whichever removal fails, all that is left goes when asked again", () =>
  Effect.gen(function*() {
    const store = yield* SessionStore
    const down = new RunError.RetryableError({ _tag: "StoreUnavailable", message: "down" })
    for (let failing = 1; failing <= 5; failing++) {
      yield* families
      let removals = 0
      const broken = {
        ...store,
        remove: (id: string) => Effect.suspend(() => ++removals >= failing ? Effect.fail(down) : store.remove(id))
      }
      const error = yield* Effect.flip(Effect.provideService(Sessions.remove("a"), SessionStore, broken))
      assert.deepStrictEqual([error.reason._tag, removals], ["StoreUnavailable", failing])
      assert.lengthOf(yield* ids, 8 - failing)
      yield* Sessions.remove("a")
      assert.deepStrictEqual(yield* ids, ["b", "b1"])
      yield* Sessions.remove("b")
    }
  }).pipe(Effect.provide(SessionStoreMemory.layer)))

it.effect("what agents begin for their calls meanwhile goes too", () =>
  Effect.gen(function*() {
    const store = yield* SessionStore
    yield* families
    const begin = (id: string) => Effect.provideService(put(`late ${id}`, id), SessionStore, store)
    const late = {
      ...store,
      remove: (id: string) => Effect.andThen(id.startsWith("late") ? Effect.void : begin(id), store.remove(id))
    }
    yield* Effect.provideService(Sessions.remove("a"), SessionStore, late)
    assert.deepStrictEqual(yield* ids, ["b", "b1"])
  }).pipe(Effect.provide(SessionStoreMemory.layer)))

it.effect("agents at work below agents leave nothing behind", () =>
  Effect.gen(function*() {
    const made = yield* Family.make()
    yield* made.root({ turns: [[{ turns: [[{ turns: [[{ by: "buy" }]] }]] }]] })
    assert.lengthOf(yield* made.store.service.list(), 3)
    assert.lengthOf(yield* made.store.service.list({ parents: [undefined] }), 1)
    yield* Effect.provideService(Sessions.remove("root"), SessionStore, made.store.service)
    assert.deepStrictEqual(yield* made.store.service.list(), [])
  }))
