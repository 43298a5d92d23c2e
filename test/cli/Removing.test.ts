/** `fiberloop remove`: in this process on real databases. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as SessionStore from "../../src/services/SessionStore.ts"
import { begunFor } from "../../src/testing/sessions/Fixtures.ts"
import { idOf, withSession, workplace } from "./Invoke.ts"

/** Two sessions, and one of an agent below a call of the first. */
const family = Effect.gen(function*() {
  const place = yield* withSession("2+2")
  const other = idOf(yield* place.run(["3+3"]))
  const inStore = <A, E>(use: (store: SessionStore.Store) => Effect.Effect<A, E>) =>
    Effect.provide(SessionStore.SessionStore.use(use), place.store)
  yield* Effect.scoped(
    Effect.flatMap(
      SessionStore.SessionStore,
      (store) =>
        Effect.flatMap(
          store.open("below", { runId: "run-1", create: true }),
          (session) => session.append([begunFor(place.id, { seq: 1 })])
        )
    )
  ).pipe(Effect.provide(place.store))
  const left = Effect.map(inStore((store) => store.list()), (infos) => infos.map(({ sessionId }) => sessionId).sort())
  return { ...place, other, left, inStore }
})

const terminal = { isTerminal: true, columns: 100 }

describe("on a terminal", () => {
  it.effect("a session is shown, and deleted with those below it after a yes", () =>
    Effect.gen(function*() {
      const { id, left, on, other } = yield* family
      const { code, tape } = yield* on("remove", [id, "--no-color"], { ...terminal, input: ["", "maybe", " Yes "] })
      assert.strictEqual(code, 0)
      assert.match(tape, new RegExp(`^${id} {2}completed {2}2 turns {2}just now {2}2\\+2\n`))
      assert.include(tape, `✓ deleted session ${id} and 1 session below it\n`)
      assert.deepStrictEqual(yield* left, [other])
    }))

  for (const [name, input] of [["a no", ["n"]], ["the end of the input", []]] as const) {
    it.effect(`${name} deletes nothing`, () =>
      Effect.gen(function*() {
        const { id, left, on } = yield* family
        const { code, tape } = yield* on("remove", [id], { ...terminal, input })
        assert.strictEqual(code, 1)
        assert.match(tape, /Nothing was deleted\.\n$/)
        assert.lengthOf(yield* left, 3)
      }))
  }

  it.effect("Ctrl-C at the question deletes nothing", () =>
    Effect.gen(function*() {
      const { id, left, on } = yield* family
      const { code } = yield* on("remove", [id], { ...terminal, signal: "SIGINT" })
      assert.strictEqual(code, 130)
      assert.lengthOf(yield* left, 3)
    }))
})

describe("without a terminal", () => {
  it.effect("nothing is deleted without --yes", () =>
    Effect.gen(function*() {
      const { id, left, on } = yield* family
      const { code, stderr, stdout } = yield* on("remove", [id], { input: ["y"] })
      assert.deepStrictEqual([code, stdout], [1, ""])
      assert.strictEqual(
        stderr,
        "fiberloop: nothing was deleted: there is no terminal to ask at, and --yes deletes without asking\n"
      )
      assert.lengthOf(yield* left, 3)
    }))

  it.effect("several are deleted, each once, by the beginning of an id and as the last one too", () =>
    Effect.gen(function*() {
      const { id, left, on, other } = yield* family
      const { code, stderr, stdout } = yield* on("remove", [id.slice(0, 30), id, "below", "--yes"])
      assert.deepStrictEqual([code, stderr], [0, ""])
      assert.strictEqual(stdout, `✓ deleted session ${id} and 1 session below it\n`)
      assert.deepStrictEqual(yield* left, [other])
      assert.strictEqual((yield* on("remove", ["last", "--yes"])).stdout, `✓ deleted session ${other}\n`)
      assert.deepStrictEqual(yield* left, [])
    }))

  it.effect("each deleted session is a line of JSON", () =>
    Effect.gen(function*() {
      const { id, on } = yield* family
      const { stdout } = yield* on("remove", [id, "--yes", "--json"])
      const { createdAt: _1, updatedAt: _2, head: _3, ...rest } = JSON.parse(stdout)
      assert.deepStrictEqual(rest, { sessionId: id, title: "2+2", turns: 2, end: "RunCompleted" })
    }))

  it.effect("one that was named and went with one before is a line of JSON too", () =>
    Effect.gen(function*() {
      const { id, on } = yield* family
      const { stdout } = yield* on("remove", [id, "below", "--yes", "--json"])
      const ids = stdout.trim().split("\n").map((line) => JSON.parse(line).sessionId)
      assert.deepStrictEqual(ids, [id, "below"])
    }))

  it.effect("what stayed of a session, because it was in use, goes when the session is named again", () =>
    Effect.gen(function*() {
      const { db, id, left, on, other, store } = yield* family
      const { code, stderr, stdout } = yield* Effect.scoped(Effect.gen(function*() {
        yield* (yield* SessionStore.SessionStore).open("below", { runId: "live", create: false })
        return yield* on("remove", [id, "--yes"])
      })).pipe(Effect.provide(store))
      assert.deepStrictEqual([code, stdout], [1, `✓ deleted session ${id}\n`])
      assert.strictEqual(
        stderr,
        `fiberloop: session "below", below "${id}", is in use by the run live and was not deleted: wait for its end, or end it ` +
          `with fiberloop abort below --db ${db}, then call fiberloop remove ${id} --db ${db} again\n`
      )
      assert.deepStrictEqual(yield* left, [other, "below"].toSorted())
      assert.strictEqual((yield* on("remove", [id, "--yes"])).stdout, "✓ deleted session below\n")
      assert.deepStrictEqual(yield* left, [other])
    }))

  it.effect("where one is unknown, none is deleted", () =>
    Effect.gen(function*() {
      const { id, left, on } = yield* family
      const { code, stderr } = yield* on("remove", [id, "nobody", "--yes"])
      assert.strictEqual(code, 1)
      assert.match(stderr, /^fiberloop: there is no session "nobody" in this database/)
      assert.lengthOf(yield* left, 3)
    }))

  it.effect("one that is in use is named, and stays", () =>
    Effect.gen(function*() {
      const { id, left, on, store } = yield* family
      const { code, stderr } = yield* Effect.scoped(Effect.gen(function*() {
        yield* (yield* SessionStore.SessionStore).open(id, { runId: "live", create: false })
        return yield* on("remove", [id, "--yes"])
      })).pipe(Effect.provide(store))
      assert.strictEqual(code, 1)
      assert.include(stderr, id)
      assert.include(stderr, "live")
      assert.lengthOf(yield* left, 3)
    }))

  it.effect("one that is in use does not keep the others that were named", () =>
    Effect.gen(function*() {
      const { id, left, on, other, store } = yield* family
      const { code, stderr, stdout } = yield* Effect.scoped(Effect.gen(function*() {
        yield* (yield* SessionStore.SessionStore).open(id, { runId: "live", create: false })
        return yield* on("remove", [id, other, "--yes", "--json"])
      })).pipe(Effect.provide(store))
      assert.deepStrictEqual([code, JSON.parse(stdout).sessionId], [1, other])
      assert.match(stderr, new RegExp(`^fiberloop: session "${id}" is in use by the run live and was not deleted: `))
      assert.deepStrictEqual(yield* left, [id, "below"].toSorted())
    }))

  it.effect("one that went before one in use is not missed when it is named too", () =>
    Effect.gen(function*() {
      const { id, inStore, left, on, other, store } = yield* family
      yield* inStore((store) =>
        Effect.scoped(Effect.flatMap(
          store.open("beside", { runId: "run-1", create: true }),
          (session) => session.append([begunFor(id, { seq: 1 })])
        ))
      )
      const { code, stderr, stdout } = yield* Effect.scoped(Effect.gen(function*() {
        yield* (yield* SessionStore.SessionStore).open("below", { runId: "live", create: false })
        return yield* on("remove", [id, "beside", other, "--yes"])
      })).pipe(Effect.provide(store))
      assert.deepStrictEqual([code, stdout.match(/✓/g)?.length], [1, 3])
      assert.notInclude(stderr, "there is no session")
      assert.deepStrictEqual(yield* left, ["below"])
    }))

  it.effect("no database is made to delete from", () =>
    Effect.gen(function*() {
      const { on } = yield* workplace()
      const { code, stderr } = yield* on("remove", ["abcdef", "--yes"])
      assert.strictEqual(code, 1)
      assert.match(stderr, /^fiberloop: there is no session "abcdef", because there is no database [^\n]+\n$/)
    }))
})
