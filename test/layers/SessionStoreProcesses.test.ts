/** What holds between processes that share a SQLite file: real ones, stopped and killed for real. */
import { assert, it } from "@effect/vitest"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import * as SessionStoreSqlite from "../../src/layers/SessionStoreSqlite.ts"
import type * as SessionStore from "../../src/services/SessionStore.ts"
import { notice } from "../../src/testing/sessions/Fixtures.ts"
import { sessionProcess, startedProcess, temporaryFolder } from "../support/Processes.ts"
import type { Answer } from "../support/SessionProcess.ts"

const newFile = Effect.map(temporaryFolder, (folder) => join(folder, "sessions.db"))
const seqsOf = (store: SessionStore.Store, sessionId: string) =>
  Effect.map(Stream.runCollect(store.read(sessionId)), (events) => events.map((event) => event.seq))
const reasonOf = <A, R>(effect: Effect.Effect<A, SessionStore.StoreError, R>) =>
  Effect.map(Effect.flip(effect), (error) => error.reason)
const ok: Answer = { ok: true }

/** A child that holds session "s" after two events, and a store of this process on its file. */
const shared = Effect.gen(function*() {
  const file = yield* newFile
  const child = yield* startedProcess(file)
  assert.deepStrictEqual(yield* child.ask({ do: "open", sessionId: "s", runId: "child-run" }), ok)
  assert.deepStrictEqual(yield* child.ask({ do: "append", count: 2 }), ok)
  return { child, file, store: yield* SessionStoreSqlite.make({ filename: file }) }
})
const options = { runId: "our-run", create: true }

it.live("a session that another process holds is busy, naming its run", () =>
  Effect.gen(function*() {
    const { store } = yield* shared
    const reason = yield* reasonOf(store.open("s", options))
    assert.isTrue(reason._tag === "SessionBusy" && reason.runId === "child-run")
    assert.strictEqual((yield* reasonOf(store.remove("s")))._tag, "SessionBusy")
    assert.deepStrictEqual(yield* seqsOf(store, "s"), [1, 2])
  }))

it.live("a session that this process holds is busy for another", () =>
  Effect.gen(function*() {
    const { child, store } = yield* shared
    yield* store.open("t", { ...options, runId: "our-run" })
    const answer = yield* child.ask({ do: "open", sessionId: "t", runId: "theirs" })
    assert.isTrue(!answer.ok && answer.reason._tag === "SessionBusy" && answer.reason.runId === "our-run")
  }))

it.live("a session opens at once after its owner was killed", () =>
  Effect.gen(function*() {
    const { child, store } = yield* shared
    yield* child.kill
    const session = yield* store.open("s", options)
    assert.strictEqual(session.head(), 2)
    yield* session.append([notice({ seq: 3 })])
    assert.deepStrictEqual(yield* seqsOf(store, "s"), [1, 2, 3])
  }))

it.live("a session is listed as unowned once its owner was killed", () =>
  Effect.gen(function*() {
    const { child, store } = yield* shared
    const unowned = Effect.map(store.list({ unowned: true }), (infos) => infos.map(({ sessionId }) => sessionId))
    assert.deepStrictEqual(yield* unowned, [])
    yield* child.kill
    assert.deepStrictEqual(yield* unowned, ["s"])
  }))

it.live("a session opens at once after its owner has closed it", () =>
  Effect.gen(function*() {
    const { child, store } = yield* shared
    yield* child.ask({ do: "close" })
    assert.strictEqual((yield* store.open("s", options)).head(), 2)
  }))

it.live("a session whose owner was killed before its first write leaves nothing behind", () =>
  Effect.gen(function*() {
    const { child, store } = yield* shared
    yield* child.ask({ do: "open", sessionId: "t", runId: "child-run" })
    yield* child.kill
    assert.isUndefined(yield* store.info("t"))
    assert.strictEqual((yield* reasonOf(store.open("t", { ...options, create: false })))._tag, "SessionNotFound")
    yield* (yield* store.open("t", options)).append([notice({ seq: 1 })])
    assert.deepStrictEqual(yield* seqsOf(store, "t"), [1])
  }))

it.effect("a frozen owner loses the session with its lease, and is stale when it thaws", () =>
  Effect.gen(function*() {
    const { child, store } = yield* shared
    yield* child.signal("SIGSTOP")
    // The child's lease runs by the machine's clock; this test's clock decides when it is over.
    yield* TestClock.setTime(Date.now())
    assert.strictEqual((yield* reasonOf(store.open("s", options)))._tag, "SessionBusy")
    yield* TestClock.adjust("31 seconds")
    const session = yield* store.open("s", options)
    yield* session.append([notice({ seq: 3 }, "ours")])
    yield* child.signal("SIGCONT")
    const answer = yield* child.ask({ do: "append", count: 1, text: "stale" })
    assert.isTrue(!answer.ok && answer.reason._tag === "StaleWriter")
    yield* session.append([notice({ seq: 4 }, "ours")])
    assert.deepStrictEqual(
      yield* Stream.runCollect(store.read("s", { from: 3 })),
      [notice({ seq: 3 }, "ours"), notice({ seq: 4 }, "ours")]
    )
  }))

it.live("an owner whose session was taken over is stale", () =>
  Effect.gen(function*() {
    const { child, store } = yield* shared
    const session = yield* store.open("s", { ...options, takeOver: true })
    const answer = yield* child.ask({ do: "append", count: 1 })
    assert.isTrue(!answer.ok && answer.reason._tag === "StaleWriter")
    assert.deepStrictEqual(yield* seqsOf(store, "s"), [1, 2])
    yield* child.ask({ do: "close" })
    yield* session.append([notice({ seq: 3 })])
  }))

it.effect("watchers see what another process appends within a quarter of a second", () =>
  Effect.gen(function*() {
    const { child, store } = yield* shared
    const seen: Array<number> = []
    const fiber = yield* store.watch("s").pipe(
      Stream.take(42),
      Stream.runForEach((event) => Effect.sync(() => seen.push(event.seq))),
      Effect.forkChild
    )
    for (let n = 1; n <= 4; n++) {
      yield* child.ask({ do: "append", count: 10 })
      yield* TestClock.adjust("250 millis")
      assert.deepStrictEqual(seen, Arr.range(1, 2 + 10 * n))
    }
    yield* Fiber.join(fiber)
  }))

it.live("processes that open a new database concurrently create its tables once", () =>
  Effect.gen(function*() {
    const file = yield* newFile
    const children = yield* Effect.forEach([1, 2, 3], () => sessionProcess(file), { concurrency: "unbounded" })
    const answers = yield* Effect.forEach(children, (child) => child.ask({ do: "start" }), { concurrency: "unbounded" })
    assert.deepStrictEqual(answers, [ok, ok, ok])
    const db = new DatabaseSync(file)
    const made = db.prepare("SELECT migration_id AS id FROM fiberloop_migrations ORDER BY id").all()
    assert.deepStrictEqual(made.map(({ id }) => id), [1, 2, 3, 4, 5, 6, 7, 8, 9])
    db.close()
  }))

it.live("exactly one of the processes that open a session concurrently gets it", () =>
  Effect.gen(function*() {
    const file = yield* newFile
    const children = yield* Effect.forEach([1, 2, 3], () => startedProcess(file), { concurrency: "unbounded" })
    const answers = yield* Effect.forEach(
      children,
      (child) => child.ask({ do: "open", sessionId: "s", runId: `run of ${child.pid}` }),
      { concurrency: "unbounded" }
    )
    assert.deepStrictEqual(answers.map((answer) => answer.ok ? "open" : answer.reason._tag).sort(), [
      "SessionBusy",
      "SessionBusy",
      "open"
    ])
  }))

it.live("processes write to their own sessions concurrently", () =>
  Effect.gen(function*() {
    const file = yield* newFile
    const store = yield* SessionStoreSqlite.make({ filename: file })
    const children = yield* Effect.forEach([1, 2, 3], () => startedProcess(file), { concurrency: "unbounded" })
    const answers = yield* Effect.forEach(
      children,
      Effect.fnUntraced(function*(child) {
        yield* child.ask({ do: "open", sessionId: `s${child.pid}`, runId: "run" })
        return yield* child.ask({ do: "append", count: 300 })
      }),
      { concurrency: "unbounded" }
    )
    assert.deepStrictEqual(answers, [ok, ok, ok])
    for (const child of children) {
      assert.deepStrictEqual(yield* seqsOf(store, `s${child.pid}`), Arr.range(1, 300))
    }
  }))

it.live("a session keeps what was appended when its process is killed while appending", () =>
  Effect.gen(function*() {
    const { child, store } = yield* shared
    const fiber = yield* Effect.forkChild(Effect.exit(child.ask({ do: "append", count: 100_000 })))
    yield* Stream.runDrain(Stream.take(store.watch("s"), 20))
    yield* child.kill
    yield* Fiber.join(fiber)
    const session = yield* store.open("s", options)
    assert.isAtLeast(session.head(), 20)
    assert.deepStrictEqual(yield* seqsOf(store, "s"), Arr.range(1, session.head()))
    yield* session.append([notice({ seq: session.head() + 1 })])
  }))
