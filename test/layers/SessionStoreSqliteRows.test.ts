/** The info of sessions in use, whose rows lag behind their logs. */
import { assert, it } from "@effect/vitest"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { statSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import * as SessionStoreSqlite from "../../src/layers/SessionStoreSqlite.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"
import { answer, completed, type Durable, notice, notices, started } from "../../src/testing/sessions/Fixtures.ts"
import { temporaryFolder } from "../support/Processes.ts"
import * as Traces from "../support/Traces.ts"

const options = { runId: "run-1", create: true }
const make = (filename: string) => SessionStoreSqlite.make({ filename })

/** A file, a store that writes to it, and a store on another connection that reads. */
const pair = Effect.gen(function*() {
  const file = join(yield* temporaryFolder, "sessions.db")
  const db = yield* Effect.acquireRelease(
    Effect.sync(() => new DatabaseSync(file)),
    (db) => Effect.sync(() => db.close())
  )
  return { file, db, store: yield* make(file), reader: yield* make(file) }
})

/** Two runs, of which the second ends `completed` or not. */
const log: Arr.NonEmptyReadonlyArray<Durable> = [
  started({ seq: 1 }, ""),
  answer({ seq: 2 }),
  completed({ seq: 3 }),
  started({ seq: 4 }, "a title"),
  ...Arr.flatMap(Arr.range(0, 19), (n) => [answer({ seq: 5 + 3 * n }), ...notices(6 + 3 * n, 7 + 3 * n)]),
  notice({ seq: 65, at: 3 }),
  completed({ seq: 66 }),
  started({ seq: 67 }, "not the title")
]

for (const size of [1, 2, 7, 40, 101]) {
  it.effect(`a session's info is as of its last event, with appends of ${size}`, () =>
    Effect.gen(function*() {
      const { reader, store } = yield* pair
      const session = yield* store.open("s", options)
      let info = SessionStore.newInfo("s", 0)
      for (const events of Arr.chunksOf(log, size)) {
        yield* session.append(events)
        info = events.reduce(SessionStore.evolveInfo, info)
        assert.deepStrictEqual(yield* reader.info("s"), info)
        assert.deepStrictEqual(yield* reader.list(), [info])
        assert.strictEqual((yield* Stream.runCollect(reader.read("s"))).length, info.head)
      }
    }))
}

it.effect("a session's info is as of its last event even in a long log, whose row never lags far behind", () =>
  Effect.gen(function*() {
    const { db, reader, store } = yield* pair
    const session = yield* store.open("s", options)
    const row = db.prepare("SELECT head, turns FROM fiberloop_sessions")
    let info = SessionStore.newInfo("s", 0)
    let behind = 0
    for (const seq of Arr.range(1, 300)) {
      const event = seq % 3 === 0 ? answer({ seq }) : notice({ seq })
      yield* session.append([event])
      info = SessionStore.evolveInfo(info, event)
      assert.deepStrictEqual(yield* reader.info("s"), info)
      const { head, turns } = row.get()!
      assert.strictEqual(turns, Math.floor(Number(head) / 3))
      behind = Math.max(behind, seq - Number(head))
    }
    assert.strictEqual(behind, 127)
  }))

it.effect("a session's info stays the same once it is closed, and the row has it", () =>
  Effect.gen(function*() {
    const { db, reader, store } = yield* pair
    const info = yield* Effect.scoped(Effect.gen(function*() {
      const session = yield* store.open("s", options)
      yield* session.append(notices(1, 3))
      yield* session.append([answer({ seq: 4 })])
      yield* session.append([notice({ seq: 5 })])
      return yield* reader.info("s")
    }))
    assert.deepStrictEqual(yield* reader.info("s"), info)
    const { head, turns, updated_at } = db.prepare("SELECT * FROM fiberloop_sessions").get()!
    assert.deepStrictEqual([head, turns, updated_at], [5, 1, 50])
  }))

it.effect("a session's info stays the same after a crash, for readers and the next writer", () =>
  Effect.gen(function*() {
    const { db, file, store } = yield* pair
    const session = yield* store.open("s", options)
    yield* session.append([started({ seq: 1 }, "a title")])
    yield* session.append([answer({ seq: 2 })])
    yield* session.append([notice({ seq: 3 })])
    const crashed = `${file}.crashed`
    db.exec(`VACUUM INTO '${crashed}'`)
    const info = yield* store.info("s")
    yield* TestClock.adjust("31 seconds")
    const again = yield* make(crashed)
    assert.deepStrictEqual(yield* again.list(), [info!])
    const next = yield* again.open("s", options)
    assert.strictEqual(next.head(), 3)
    assert.deepStrictEqual(yield* again.info("s"), info)
    yield* next.append([notice({ seq: 4 })])
    assert.deepStrictEqual(yield* again.info("s"), { ...info!, head: 4, updatedAt: 40 })
  }))

it.effect("sessions in use and closed ones are listed in order, page by page", () =>
  Effect.gen(function*() {
    const { reader, store } = yield* pair
    const write = Effect.fnUntraced(function*(n: number) {
      const session = yield* store.open(`s${n}`, options)
      yield* session.append([notice({ seq: 1, at: 5 })])
      yield* session.append([notice({ seq: 2, at: (n * 4) % 9 })])
    })
    for (const n of [1, 2, 3, 4]) yield* write(n)
    for (const n of [5, 6, 7, 8, 9]) yield* Effect.scoped(write(n))
    const pages: Array<SessionStore.SessionInfo> = []
    let page = yield* reader.list({ limit: 2 })
    while (page.length > 0) {
      pages.push(...page)
      page = yield* reader.list({ limit: 2, after: page.at(-1)! })
    }
    assert.deepStrictEqual(pages.map(({ sessionId }) => sessionId), [
      "s2",
      "s4",
      "s6",
      "s8",
      "s1",
      "s3",
      "s5",
      "s7",
      "s9"
    ])
    assert.deepStrictEqual(pages, [...yield* reader.list()])
  }))

it.effect("sessions in use are passed over in few steps, of which each looks at all that are", () =>
  Effect.gen(function*() {
    const { reader, store } = yield* pair
    const write = (n: number) =>
      Effect.flatMap(store.open(`s${n}`, options), (session) => session.append([started({ seq: 1, at: n })]))
    yield* Effect.scoped(write(0))
    yield* Effect.forEach(Arr.range(1, 1000), write, { discard: true })
    const traces = Traces.make()
    const list = reader.list({ ends: [undefined], unowned: true, limit: 50 })
    const listed = yield* Effect.withTracer(list, traces.tracer)
    assert.deepStrictEqual(listed.map(({ sessionId }) => sessionId), ["s0"])
    // 100 rows, 200, 400 and 800
    assert.strictEqual(traces.spans.filter(({ name }) => name === "sqlite").length, 4)
  }))

it.effect("a long log is read in pages, between which others go", () =>
  Effect.gen(function*() {
    const { reader, store } = yield* pair
    const session = yield* store.open("s", options)
    yield* session.append(notices(1, 2000))
    let turns = 0
    const turnsOf = (to: number) =>
      Effect.acquireUseRelease(
        Effect.sync(() => {
          turns = 0
          const turn = () => {
            turns++
            next = setImmediate(turn)
          }
          let next = setImmediate(turn)
          return () => clearImmediate(next)
        }),
        () => Effect.as(Stream.runDrain(reader.read("s", { to })), () => turns),
        (stop) => Effect.sync(stop)
      )
    assert.isAtLeast((yield* turnsOf(2000))(), 3)
    assert.strictEqual((yield* turnsOf(90))(), 0)
  }))

it.effect("a writer whose session was given back stores nothing afterwards", () =>
  Effect.gen(function*() {
    const { db, reader, store } = yield* pair
    const session = yield* store.open("s", options)
    yield* session.append(notices(1, 2))
    db.exec("UPDATE fiberloop_sessions SET owner = NULL")
    assert.strictEqual((yield* Effect.flip(session.append([notice({ seq: 3 })]))).reason._tag, "StaleWriter")
    assert.strictEqual((yield* Stream.runCollect(reader.read("s"))).length, 2)
  }))

it.effect("an append of a small event writes about one page", () =>
  Effect.gen(function*() {
    const { file, store } = yield* pair
    const session = yield* store.open("s", options)
    yield* session.append([started({ seq: 1 }), ...notices(2, 64)])
    const before = statSync(`${file}-wal`).size
    for (const seq of Arr.range(65, 124)) yield* session.append([notice({ seq })])
    assert.isAtMost((statSync(`${file}-wal`).size - before) / 4120, 66)
  }))
