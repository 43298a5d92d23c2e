/** What holds between stores and processes that share a Postgres: real ones, killed for real. */
import { assert, it } from "@effect/vitest"
import * as Arr from "effect/Array"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as OwnerLiveness from "../../src/layers/OwnerLiveness.ts"
import * as SessionStorePg from "../../src/layers/SessionStorePg.ts"
import type * as SessionStore from "../../src/services/SessionStore.ts"
import { notice, notices, seqs } from "../../src/testing/sessions/Fixtures.ts"
import * as PgDatabases from "../support/PgDatabases.ts"
import { sessionProcess, startedProcess } from "../support/Processes.ts"
import type { Answer } from "../support/SessionProcess.ts"

const make = (url: string) => SessionStorePg.make({ url })
const seqsOf = (store: SessionStore.Store, sessionId: string) =>
  Effect.map(Stream.runCollect(store.read(sessionId)), seqs)
const reasonOf = <A, R>(effect: Effect.Effect<A, SessionStore.StoreError, R>) =>
  Effect.map(Effect.flip(effect), (error) => error.reason)
const options = { runId: "our-run", create: true }
const ok: Answer = { ok: true }

/** A child that holds session "s" after two events, and a store of this process on its database. */
const shared = Effect.gen(function*() {
  const url = yield* PgDatabases.database
  const child = yield* startedProcess(url)
  assert.deepStrictEqual(yield* child.ask({ do: "open", sessionId: "s", runId: "child-run" }), ok)
  assert.deepStrictEqual(yield* child.ask({ do: "append", count: 2 }), ok)
  return { child, url, store: yield* make(url) }
})

/** Appends each event once a watcher of another store has seen the previous one. Time stands still: nobody polls. */
const seenOneByOne = Effect.fnUntraced(function*(
  one: SessionStore.Store,
  two: SessionStore.Store,
  after: (seq: number) => Effect.Effect<unknown> = () => Effect.void
) {
  const count = 30
  const seen = Arr.makeBy(count, () => Deferred.makeUnsafe<void>())
  const fiber = yield* two.watch("s").pipe(
    Stream.tap(({ seq }) => Deferred.succeed(seen[seq - 1]!, undefined)),
    Stream.take(count),
    Stream.runCollect,
    Effect.forkChild
  )
  const session = yield* one.open("s", options)
  for (let seq = 1; seq <= count; seq++) {
    yield* session.append([notice({ seq })])
    yield* Deferred.await(seen[seq - 1]!)
    yield* after(seq)
  }
  assert.deepStrictEqual(yield* Fiber.join(fiber), notices(1, count))
})

it.effect("another store watches what one appends, notified by the database", () =>
  Effect.gen(function*() {
    const url = yield* PgDatabases.database
    yield* seenOneByOne(yield* make(url), yield* make(url))
  }))

it.effect("a store of one connection appends and watches at the same time", () =>
  Effect.gen(function*() {
    const url = yield* PgDatabases.database
    const one = yield* SessionStorePg.make({ url, maxConnections: 1 })
    yield* seenOneByOne(one, one)
  }))

it.live("a watcher whose connection is lost continues", () =>
  Effect.gen(function*() {
    const url = yield* PgDatabases.database
    const listeners =
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database() AND pid <> pg_backend_pid()"
    yield* seenOneByOne(yield* make(url), yield* make(url), (seq) =>
      seq % 10 === 0 ? PgDatabases.query(url, listeners) : Effect.void)
  }))

it.live("a session whose id is too long for a notification is watched by polling", () =>
  Effect.gen(function*() {
    const url = yield* PgDatabases.database
    const [one, two] = [yield* make(url), yield* make(url)]
    const id = "x".repeat(2500)
    const fiber = yield* Effect.forkChild(Stream.runCollect(Stream.take(two.watch(id), 2)))
    const session = yield* one.open(id, options)
    for (const seq of [1, 2]) yield* session.append([notice({ seq })])
    assert.deepStrictEqual(yield* Fiber.join(fiber), notices(1, 2))
  }))

it.effect("a removed session ends the watchers of other stores", () =>
  Effect.gen(function*() {
    const url = yield* PgDatabases.database
    const [one, two] = [yield* make(url), yield* make(url)]
    yield* Effect.scoped(Effect.flatMap(one.open("s", options), (session) => session.append(notices(1, 3))))
    const seen = yield* Deferred.make<void>()
    const fiber = yield* two.watch("s").pipe(
      Stream.tap(({ seq }) => seq === 3 ? Deferred.succeed(seen, undefined) : Effect.void),
      Stream.runDrain,
      Effect.forkChild
    )
    yield* Deferred.await(seen)
    yield* one.remove("s")
    assert.strictEqual((yield* reasonOf(Fiber.join(fiber)))._tag, "SessionNotFound")
  }))

it.live("processes that open a new database concurrently create its tables once", () =>
  Effect.gen(function*() {
    const url = yield* PgDatabases.database
    const children = yield* Effect.forEach([1, 2, 3, 4], () => sessionProcess(url), { concurrency: "unbounded" })
    const answers = yield* Effect.forEach(children, (child) => child.ask({ do: "start" }), { concurrency: "unbounded" })
    assert.deepStrictEqual(answers, [ok, ok, ok, ok])
    assert.strictEqual((yield* PgDatabases.query(url, "SELECT * FROM fiberloop_migrations")).length, 7)
  }))

it.live("stores that open a new database concurrently create its tables once", () =>
  Effect.gen(function*() {
    const url = yield* PgDatabases.database
    yield* Effect.forEach(Arr.range(1, 20), () => make(url), { concurrency: "unbounded" })
    assert.strictEqual((yield* PgDatabases.query(url, "SELECT * FROM fiberloop_migrations")).length, 7)
  }))

it.live("a session that another process holds is busy, and opens at once when that process is killed", () =>
  Effect.gen(function*() {
    const { child, store } = yield* shared
    const reason = yield* reasonOf(store.open("s", options))
    assert.isTrue(reason._tag === "SessionBusy" && reason.runId === "child-run")
    assert.strictEqual((yield* reasonOf(store.remove("s")))._tag, "SessionBusy")
    yield* child.kill
    const session = yield* store.open("s", options)
    yield* session.append([notice({ seq: 3 })])
    assert.deepStrictEqual(yield* seqsOf(store, "s"), [1, 2, 3])
  }))

it.live("a writer in another process is stale once its session was taken over", () =>
  Effect.gen(function*() {
    const { child, store } = yield* shared
    const session = yield* store.open("s", { ...options, takeOver: true })
    const answer = yield* child.ask({ do: "append", count: 1, text: "stale" })
    assert.isTrue(!answer.ok && answer.reason._tag === "StaleWriter")
    yield* session.append([notice({ seq: 3 }, "ours")])
    yield* child.ask({ do: "close" })
    yield* session.append([notice({ seq: 4 }, "ours")])
    assert.deepStrictEqual(yield* Stream.runCollect(store.read("s", { from: 3 })), [
      notice({ seq: 3 }, "ours"),
      notice({ seq: 4 }, "ours")
    ])
  }))

/** Two stores whose clocks are decades apart, as those of machines are by seconds. */
const apart = Effect.fnUntraced(function*(liveness: Partial<OwnerLiveness.Liveness> = {}) {
  const url = yield* PgDatabases.database
  const all = { ...(yield* OwnerLiveness.OwnerLiveness), ...liveness }
  const store = Effect.provideService(make(url), OwnerLiveness.OwnerLiveness, all)
  return { url, early: yield* store, late: yield* store }
})

it.effect("a running lease keeps out a process that thinks it is over, with its clock ahead", () =>
  Effect.gen(function*() {
    const { early, late } = yield* apart()
    const session = yield* early.open("s", options)
    yield* session.append([notice({ seq: 1 })])
    assert.strictEqual((yield* reasonOf(TestClock.withLive(late.open("s", options))))._tag, "SessionBusy")
    assert.strictEqual((yield* reasonOf(TestClock.withLive(late.remove("s"))))._tag, "SessionBusy")
    yield* session.append([notice({ seq: 2 })])
  }))

it.effect("a lease that is over lets in a process that thinks it runs, with its clock behind", () =>
  Effect.gen(function*() {
    const { early, late, url } = yield* apart({ lease: Duration.millis(100), renewEvery: Duration.days(1) })
    yield* TestClock.withLive(late.open("s", options))
    yield* PgDatabases.query(url, "SELECT pg_sleep(0.2)")
    assert.strictEqual((yield* early.open("s", options)).head(), 0)
  }))

it.live("exactly one of the processes that open a session concurrently gets it", () =>
  Effect.gen(function*() {
    const url = yield* PgDatabases.database
    const children = yield* Effect.forEach([1, 2, 3], () => startedProcess(url), { concurrency: "unbounded" })
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
    const url = yield* PgDatabases.database
    const store = yield* make(url)
    const children = yield* Effect.forEach([1, 2, 3], () => startedProcess(url), { concurrency: "unbounded" })
    const answers = yield* Effect.forEach(
      children,
      Effect.fnUntraced(function*(child) {
        yield* child.ask({ do: "open", sessionId: `s${child.pid}`, runId: "run" })
        return yield* child.ask({ do: "append", count: 300 })
      }),
      { concurrency: "unbounded" }
    )
    assert.deepStrictEqual(answers, [ok, ok, ok])
    for (const child of children) assert.deepStrictEqual(yield* seqsOf(store, `s${child.pid}`), Arr.range(1, 300))
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

it.live("exactly one of several stores' concurrent forks to one id is made", () =>
  Effect.gen(function*() {
    const { child, store, url } = yield* shared
    yield* child.ask({ do: "close" })
    const session = yield* store.open("s", options)
    yield* session.append([{ ...notice({ seq: 3 }), _tag: "TurnFinished" } as never])
    const stores = yield* Effect.forEach(Arr.range(1, 6), () => make(url))
    const made = yield* Effect.forEach(
      stores,
      (other) =>
        Effect.match(other.fork("s", { to: "t" }), { onFailure: (_) => _.reason._tag, onSuccess: () => "forked" }),
      { concurrency: "unbounded" }
    )
    assert.deepStrictEqual(made.toSorted(), [...Arr.replicate("InvalidInput", 5), "forked"])
    assert.deepStrictEqual((yield* seqsOf(store, "t")).slice(0, 3), [1, 2, 3])
  }))
