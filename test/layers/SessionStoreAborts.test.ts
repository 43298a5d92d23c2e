/** Aborts that one process asks of another through their shared database: here two stores on it, each with its own sessions. */
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import { DatabaseSync } from "node:sqlite"
import * as SessionStoreSqlite from "../../src/layers/SessionStoreSqlite.ts"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import type * as SessionStore from "../../src/services/SessionStore.ts"
import { aborted, started, suspended } from "../../src/testing/sessions/Fixtures.ts"
import { startedProcess } from "../support/Processes.ts"
import * as Sleeps from "../support/Sleeps.ts"
import { sqlOn } from "../support/SqliteStores.ts"
import * as Traces from "../support/Traces.ts"
import * as TwoStores from "../support/TwoStores.ts"

/** Opens a session and writes to it; `heard` lists the runs it is asked to abort. */
const writer = Effect.fnUntraced(function*(
  store: TwoStores.Store,
  { sessionId = "s", ...options }: Partial<SessionStore.OpenOptions> & { readonly sessionId?: string } = {}
) {
  const heard: Array<string> = []
  const first = Deferred.makeUnsafe<void>()
  const { runId = "run-1" } = options
  const onAbortAsked = Effect.sync(() => {
    heard.push(runId)
    Deferred.doneUnsafe(first, Effect.void)
  })
  const session = yield* store.open(sessionId, { runId: "run-1", create: true, onAbortAsked, ...options })
  if (session.head() === 0) yield* session.append([started({ seq: 1 })])
  return { heard, first: Deferred.await(first) }
})

describe.each(Object.entries(TwoStores.byEngine))("%s: a requested abort", (_, made) => {
  it.live("reaches the session's owner, not its previous one", () =>
    Effect.gen(function*() {
      const [here, there] = yield* made
      const before = yield* writer(there)
      const now = yield* writer(there, { runId: "run-2", takeOver: true })
      assert.isTrue(yield* here.askToAbort!("s", "run-2"))
      yield* now.first
      assert.deepStrictEqual([before.heard, now.heard], [[], ["run-2"]])
    }))
})

describe("SQLite: a requested abort", () => {
  it.effect("is heard within a second, once per request", () =>
    Effect.gen(function*() {
      const [here, there] = yield* TwoStores.made
      const { heard } = yield* writer(there)
      for (const times of [1, 2]) {
        assert.isTrue(yield* here.askToAbort!("s", "run-1"))
        assert.lengthOf(heard, times - 1)
        yield* TwoStores.looked
        assert.lengthOf(heard, times)
        yield* TwoStores.looked
        assert.lengthOf(heard, times)
      }
    }))

  it.effect("is TwoStores.looked for outside the openers' traces and clocks", () =>
    Effect.gen(function*() {
      const [here, there] = yield* TwoStores.made
      const { spans, tracer } = Traces.make()
      const first = yield* Scope.make()
      // the first opener has a trace, and a clock that stands still
      yield* writer(there, { runId: "first" }).pipe(
        Effect.andThen(there.open("other", { runId: "first", create: true, onAbortAsked: Effect.void })),
        Effect.withSpan("first"),
        Effect.withTracer(tracer),
        Effect.provideService(Clock.Clock, yield* TestClock.make()),
        Scope.provide(first)
      )
      const before = spans.length
      const { heard } = yield* writer(there, { takeOver: true })
      assert.isTrue(yield* here.askToAbort!("s", "run-1"))
      yield* TwoStores.looked
      assert.deepStrictEqual([heard, spans.length], [["run-1"], before])
      yield* Scope.close(first, Exit.void)
    }))

  it.effect("is TwoStores.looked for only while a session is open", () =>
    Effect.gen(function*() {
      const { clock, sleeps } = yield* Sleeps.make()
      const store = yield* SessionStoreSqlite.make({ filename: yield* TwoStores.newFile }).pipe(
        Effect.provideService(Clock.Clock, clock)
      )
      for (const _ of [1, 2]) {
        yield* Effect.scoped(Effect.andThen(writer(store), Effect.andThen(TwoStores.looked, TwoStores.looked)))
        yield* TwoStores.looked
        assert.strictEqual(sleeps.now, 0)
      }
      assert.isAbove(sleeps.ever, 6)
    }))

  it.effect("made just before a session is given back is heard by its next owner for that run", () =>
    Effect.gen(function*() {
      const [here, there] = yield* TwoStores.made
      yield* Effect.scoped(Effect.andThen(writer(there), here.askToAbort!("s", "run-1")))
      const heardBy = (runId: string) =>
        Effect.scoped(Effect.tap(Effect.map(writer(there, { runId }), ({ heard }) => heard), TwoStores.looked))
      assert.deepStrictEqual(yield* heardBy("run-2"), [])
      assert.deepStrictEqual(yield* heardBy("run-1"), ["run-1"])
    }))

  it.effect("is still heard after a look that failed", () =>
    Effect.gen(function*() {
      const file = yield* TwoStores.newFile
      const [here, there] = yield* TwoStores.onFile(file)
      const { heard } = yield* writer(there)
      yield* here.askToAbort!("s", "run-1")
      const db = new DatabaseSync(file)
      yield* Effect.addFinalizer(() => Effect.sync(() => db.close()))
      db.exec("ALTER TABLE fiberloop_aborts RENAME TO away")
      yield* TwoStores.looked
      assert.deepStrictEqual(heard, [])
      db.exec("ALTER TABLE away RENAME TO fiberloop_aborts")
      yield* TwoStores.looked
      assert.deepStrictEqual(heard, ["run-1"])
    }))

  it.effect("is forgotten some time after its run has ended or its session was removed, and not before", () =>
    Effect.gen(function*() {
      const file = yield* TwoStores.newFile
      const [here, there] = yield* TwoStores.onFile(file)
      const last: Record<string, ReadonlyArray<RunEvent.Durable>> = {
        going: [],
        suspended: [suspended({ seq: 2 })],
        ended: [aborted({ seq: 2 }, "requested")],
        removed: []
      }
      for (const [sessionId, events] of Object.entries(last)) {
        yield* Effect.scoped(Effect.gen(function*() {
          const { append } = yield* there.open(sessionId, { runId: "run-1", create: true, onAbortAsked: Effect.void })
          yield* append([started({ seq: 1 }), ...events])
          assert.isTrue(yield* here.askToAbort!(sessionId, "run-1"))
        }))
      }
      yield* there.remove("removed")
      const asked = () => sqlOn(file, (db) => db.prepare("SELECT owner FROM fiberloop_aborts").all())
      assert.lengthOf(asked(), 4)
      yield* writer(there)
      yield* TestClock.adjust("9 minutes")
      assert.lengthOf(asked(), 4)
      yield* TestClock.adjust("2 minutes")
      assert.lengthOf(asked(), 2)
      for (const sessionId of ["going", "suspended"]) {
        const { first } = yield* writer(there, { sessionId })
        yield* first
      }
    }))

  it.live("is heard by nobody while the process that owns the session does not listen", () =>
    Effect.gen(function*() {
      const file = yield* TwoStores.newFile
      const child = yield* startedProcess(file)
      yield* child.ask({ do: "open", sessionId: "s", runId: "run-1", listens: false })
      yield* child.ask({ do: "append", count: 1 })
      const store = yield* SessionStoreSqlite.make({ filename: file })
      assert.isFalse(yield* store.askToAbort!("s", "run-1"))
    }))

  it.live("is heard by nobody once the process that listened is killed", () =>
    Effect.gen(function*() {
      const file = yield* TwoStores.newFile
      const child = yield* startedProcess(file)
      yield* child.ask({ do: "open", sessionId: "s", runId: "run-1", listens: true })
      yield* child.ask({ do: "append", count: 1 })
      const store = yield* SessionStoreSqlite.make({ filename: file })
      assert.isTrue(yield* store.askToAbort!("s", "run-1"))
      yield* child.kill
      assert.isFalse(yield* store.askToAbort!("s", "run-1"))
    }))
})
