/** `fiberloop stats` on real databases. */
import { assert, describe, it } from "@effect/vitest"
import { Array as Arr, Effect, Stream } from "effect"
import { TestClock } from "effect/testing"
import { existsSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"
import * as SessionLines from "../../src/SessionLines.ts"
import * as Draft from "../support/Drafts.ts"
import { invoke, workplace } from "./Invoke.ts"

type Place = Effect.Success<ReturnType<typeof workplace>>

/** A session with one run of this agent, started at that time. */
const add = (id: string, agent: string, at: number, version = 1) =>
  Effect.scoped(Effect.gen(function*() {
    const store = yield* SessionStore.SessionStore
    const session = yield* store.open(id, { runId: "run-1", create: true })
    const log = Draft.log(
      { ...Draft.started("go"), agent, at },
      { ...Draft.assistant([]), at },
      { ...Draft.completed({ turns: 1 }), at }
    )
    yield* session.append([log[0], log[1], { ...log[2], version }])
  }))

const json = (place: Place, ...args: ReadonlyArray<string>) =>
  Effect.map(place.on("stats", ["--json", ...args]), ({ stdout }) => JSON.parse(stdout))

const hour = 3_600_000

describe("fiberloop stats", () => {
  it.effect("counts the runs of all sessions", () =>
    Effect.gen(function*() {
      const place = yield* workplace()
      yield* place.run(["2+2"])
      yield* place.run(["3+3", "--max-turns", "1"])
      const { code, stderr, stdout } = yield* place.on("stats")
      assert.deepStrictEqual([code, stderr], [0, ""])
      assert.match(
        stdout,
        /^runs +2 {2}in 2 sessions\n {2}completed +1 {2}stop 1\n {2}limited +1 {2}turns 1\nsuccess +50 %/
      )
      assert.match(stdout, /\n {2}turns +3 +1\.5 +2 +2\n/)
      const { latency, runs, tools } = yield* json(place)
      assert.deepStrictEqual([runs, latency.model.count, tools.calculate.count], [2, 3, 1])
    }))

  it.effect("accepts the beginning of an id for one session", () =>
    Effect.gen(function*() {
      const place = yield* workplace()
      yield* place.run(["2+2"])
      yield* add("another", "other", 1).pipe(Effect.provide(place.store))
      const { sessions, turns } = yield* json(place, "--session", "anothe")
      assert.deepStrictEqual([sessions, turns.total], [1, 1])
      assert.strictEqual((yield* json(place)).sessions, 2)
    }))

  it.live(
    "counts the runs started since a time, of one agent, in any number of sessions",
    () =>
      Effect.gen(function*() {
        const place = yield* workplace()
        const now = Date.now()
        yield* Effect.forEach(
          Array.from({ length: 205 }, (_, at) => at),
          (at) => add(`session-${at}`, at % 5 === 0 ? "fifth" : "other", now - at * hour)
        ).pipe(Effect.provide(place.store))
        assert.strictEqual((yield* json(place)).runs, 205)
        assert.strictEqual((yield* json(place, "--agent", "fifth")).runs, 41)
        assert.strictEqual((yield* json(place, "--since", "30m")).runs, 1)
        assert.strictEqual((yield* json(place, "--since", "10d")).runs, 205)
        assert.strictEqual((yield* json(place, "--since", new Date(now - 9.5 * hour).toISOString())).runs, 10)
        const day = new Date(now - 100 * hour).toISOString().slice(0, 10)
        assert.deepStrictEqual(
          yield* json(place, "--since", day),
          yield* json(place, "--since", `${day} 00:00`)
        )
      }),
    60_000
  )

  it.effect("says which agents there are if it finds no runs of the one named", () =>
    Effect.gen(function*() {
      const place = yield* workplace()
      yield* add("session", "support", 0).pipe(Effect.provide(place.store))
      const { code, stderr, stdout } = yield* place.on("stats", ["--agent", "suport"])
      assert.deepStrictEqual([code, stdout], [0, ""])
      assert.strictEqual(stderr, `fiberloop: no run belongs to the agent "suport": there are runs of "support"\n`)
    }))

  it.effect("says that no run is recent enough, and prints zeros for programs", () =>
    Effect.gen(function*() {
      const place = yield* workplace()
      yield* add("session", "support", 0).pipe(Effect.provide(place.store))
      const { code, stderr, stdout } = yield* place.on("stats", ["--since", "2001-02-03", "--json"])
      assert.deepStrictEqual([code, JSON.parse(stdout).runs], [0, 0])
      assert.strictEqual(stderr, "fiberloop: no run was started since 2001-02-03T00:00:00.000Z\n")
    }))

  it.effect("leaves out a session that a newer version wrote, says so, and counts the others", () =>
    Effect.gen(function*() {
      const place = yield* workplace()
      yield* Effect.all([add("older", "a", 0), add("newer", "a", 0, 99)]).pipe(Effect.provide(place.store))
      const { code, stderr, stdout } = yield* place.on("stats")
      assert.strictEqual(code, 1)
      assert.match(stderr, /^fiberloop: session "newer" is left out: [^\n]+ version 99[^\n]+ Update fiberloop[^\n]+\n$/)
      assert.match(stdout, /^runs +1 {2}in 1 session\n/)
    }))
})

describe("runs that several sessions have", () => {
  /** Appends to a session, event after event at this time, as a drive of `run-1`. */
  const append = (id: string, at: number, ...drafts: ReadonlyArray<RunEvent.Draft>) =>
    Effect.scoped(Effect.gen(function*() {
      const store = yield* SessionStore.SessionStore
      const session = yield* store.open(id, { runId: "run-1", create: true })
      const head = session.head()
      const log = Draft.log(...drafts).map((event, i) => ({ ...event, seq: head + i + 1, at }))
      if (Arr.isReadonlyArrayNonEmpty(log)) yield* session.append(log)
    }))
  const fork = (id: string, to: string) => SessionStore.SessionStore.use((store) => store.fork(id, { to }))
  const turn = (n: number) => [
    Draft.turnStarted(n),
    Draft.assistant([], { turn: n, usage: { inputTokens: 10, outputTokens: 1, cost: 2 } }),
    Draft.turnFinished(n)
  ]
  const counted = (place: Place, ...args: ReadonlyArray<string>) =>
    Effect.map(
      json(place, ...args),
      ({ cost, drives, ends: { completed, limited }, runs, sessions, turns }) => ({
        sessions,
        runs,
        drives,
        turns: turns.total,
        cost,
        completed,
        limited
      })
    )

  it.effect("count once, whichever session was changed last, and all of them in a session alone", () =>
    Effect.gen(function*() {
      const place = yield* workplace()
      const once = { sessions: 1, runs: 1, drives: 1, turns: 1, cost: 2, completed: 1, limited: 0 }
      yield* Effect.gen(function*() {
        yield* append("s", 0, Draft.started("go"), ...turn(1), Draft.completed())
        yield* TestClock.adjust("1 second")
        yield* fork("s", "a")
        yield* fork("a", "b")
        assert.deepStrictEqual(yield* counted(place), once)
        assert.deepStrictEqual(yield* counted(place, "--session", "b"), once)
        yield* SessionStore.SessionStore.use((store) => store.remove("s"))
        assert.deepStrictEqual(yield* counted(place), once)
      }).pipe(Effect.provide(place.store))
    }))

  it.effect("count as far as they came in the original, and again with what a copy resumed", () =>
    Effect.gen(function*() {
      const place = yield* workplace()
      yield* Effect.gen(function*() {
        yield* append("s", 0, Draft.started("go"), ...turn(1))
        yield* TestClock.adjust("1 second")
        yield* fork("s", "f")
        yield* append("s", 1500, ...turn(2), Draft.completed())
        const whole = { sessions: 1, runs: 1, drives: 1, turns: 2, cost: 4, completed: 1, limited: 0 }
        assert.deepStrictEqual(yield* counted(place), whole)
        yield* append("f", 2000, Draft.resumed(2), ...turn(2), ...turn(3), Draft.limited())
        const both = { sessions: 2, runs: 2, drives: 2, turns: 4, cost: 8, completed: 1, limited: 1 }
        assert.deepStrictEqual(yield* counted(place), both)
        yield* TestClock.adjust("2 seconds")
        yield* fork("f", "g")
        assert.deepStrictEqual(yield* counted(place), both)
      }).pipe(Effect.provide(place.store))
    }))

  it.effect("count the same where the original and its copies were imported", () =>
    Effect.gen(function*() {
      const [place, imported] = [yield* workplace(), yield* workplace()]
      const sessions = yield* Effect.gen(function*() {
        yield* append("s", 0, Draft.started("go"), ...turn(1), Draft.limited())
        yield* TestClock.adjust("1 second")
        yield* fork("s", "f")
        yield* append("f", 2000, Draft.resumed(2), ...turn(2), Draft.completed())
        yield* TestClock.adjust("2 seconds")
        yield* fork("f", "g")
        return yield* Effect.forEach(["s", "f", "g"], (id) => Stream.runCollect(SessionLines.toLines(id)))
      }).pipe(Effect.provide(place.store))
      const importNext = (lines: ReadonlyArray<string>) =>
        Effect.andThen(TestClock.adjust("1 second"), SessionLines.fromLines(Stream.fromIterable(lines)))
      yield* Effect.provide(Effect.forEach(sessions, importNext), imported.store)
      const both = { sessions: 2, runs: 2, drives: 2, turns: 2, cost: 4, completed: 1, limited: 1 }
      assert.deepStrictEqual(yield* counted(place), both)
      assert.deepStrictEqual(yield* counted(imported), both)
    }))

  it.effect("count once if they were resumed in the millisecond in which they were copied", () =>
    Effect.gen(function*() {
      const place = yield* workplace()
      yield* Effect.gen(function*() {
        yield* append("s", 0, Draft.started("go"), Draft.limited(), Draft.resumed(2), ...turn(1), Draft.completed())
        yield* fork("s", "f")
        const once = { sessions: 1, runs: 1, drives: 2, turns: 1, cost: 2, completed: 1, limited: 0 }
        assert.deepStrictEqual(yield* counted(place), once)
      }).pipe(Effect.provide(place.store))
    }))

  it.effect("count with what a compaction by hand spent in a copy, whether the copy resumes the run later or not", () =>
    Effect.gen(function*() {
      const place = yield* workplace()
      yield* Effect.gen(function*() {
        const usage = { inputTokens: 5, outputTokens: 1, cost: 1 }
        const byHand: RunEvent.Draft = {
          _tag: "ContextCompacted",
          strategy: "test",
          upTo: 1,
          replacement: [],
          before: 2,
          after: 1,
          usage,
          lost: { retries: 1, lostTime: 7 },
          isOfRun: false
        }
        const inVain: RunEvent.Draft = { _tag: "CompactionDiscarded", message: "no", usage, isOfRun: false }
        yield* append("s", 0, Draft.started("go"), ...turn(1), Draft.limited(), byHand)
        yield* TestClock.adjust("1 second")
        yield* fork("s", "f")
        const before = { sessions: 1, runs: 1, drives: 1, turns: 1, cost: 3, completed: 0, limited: 1 }
        assert.deepStrictEqual(yield* counted(place), before)
        yield* append("f", 2000, byHand, inVain)
        assert.deepStrictEqual(yield* counted(place), { ...before, cost: 5 })
        const { agent } = Draft.started("go")
        assert.deepStrictEqual(yield* counted(place, "--agent", agent), { ...before, cost: 5 })
        assert.strictEqual((yield* counted(place, "--agent", "another")).cost, null)
        assert.strictEqual((yield* json(place)).retries.lostTime, 14)
        yield* TestClock.adjust("2 seconds")
        yield* fork("f", "g")
        assert.deepStrictEqual(yield* counted(place), { ...before, cost: 5 })
        yield* append("f", 3500, Draft.resumed(2), ...turn(2), Draft.completed())
        const both = { sessions: 2, runs: 2, drives: 2, turns: 2, cost: 7, completed: 1, limited: 1 }
        assert.deepStrictEqual(yield* counted(place), both)
      }).pipe(Effect.provide(place.store))
    }))

  it.effect("count in the copy if the original cannot be read", () =>
    Effect.gen(function*() {
      const place = yield* workplace()
      yield* Effect.gen(function*() {
        yield* append("s", 0, Draft.started("go"), ...turn(1), Draft.completed())
        yield* TestClock.adjust("1 second")
        yield* fork("s", "f")
        const newer = { ...Draft.started("more"), version: 99 }
        yield* append("s", 1500, newer)
      }).pipe(Effect.provide(place.store))
      const { runs, turns } = yield* json(place)
      assert.deepStrictEqual([runs, turns.total], [1, 1])
    }))
})

describe("without sessions", () => {
  it.effect("stats says in one line that there are none, and creates no database", () =>
    Effect.gen(function*() {
      const { db, on } = yield* workplace()
      const { code, stderr, stdout } = yield* on("stats")
      assert.deepStrictEqual([code, stdout], [0, ""])
      assert.strictEqual(
        stderr,
        `fiberloop: there are no sessions yet in "${db}": fiberloop run --db ${db} "<task>" begins one\n`
      )
      assert.isFalse(existsSync(db))
    }))

  it.effect("stats says the same about an empty database", () =>
    Effect.gen(function*() {
      const { db, on, store } = yield* workplace()
      yield* SessionStore.SessionStore.use((_) => _.list()).pipe(Effect.provide(store))
      assert.isTrue(existsSync(db))
      const { code, stderr, stdout } = yield* on("stats")
      assert.deepStrictEqual([code, stdout], [0, ""])
      assert.match(stderr, /^fiberloop: there are no sessions yet in [^\n]+\n$/)
    }))

  it.effect("stats --json prints the zeros", () =>
    Effect.gen(function*() {
      const place = yield* workplace()
      const { runs, successRate, turns } = yield* json(place)
      assert.deepStrictEqual([runs, successRate, turns.total], [0, null, 0])
    }))

  it.effect("stats of one session says where it looked", () =>
    Effect.gen(function*() {
      const { on } = yield* workplace()
      const { code, stderr } = yield* on("stats", ["--session", "abcdef"])
      assert.strictEqual(code, 1)
      assert.match(stderr, /^fiberloop: there is no session "abcdef", because there is no database [^\n]+\n$/)
    }))
})

describe("counting that cannot finish", () => {
  it.effect("is reported in one line", () =>
    Effect.gen(function*() {
      const { root } = yield* workplace()
      const file = join(root, "notes.txt")
      writeFileSync(file, "this is no database".repeat(100))
      for (
        const [args, words] of [
          [["--db", file], /is not a SQLite database/],
          [["--since", "yesterday"], /--since takes how long ago, as in 30m, 24h.*not "yesterday"/],
          [["--since", "2026-13-45"], /not "2026-13-45"/],
          [["--since", "2026-02-30"], /not "2026-02-30"/],
          [["--since", "2026-02-30T12:00+01:00"], /not "2026-02-30T12:00/],
          [["--agent", " "], /--agent is empty/]
        ] as const
      ) {
        const { code, stderr, stdout } = yield* invoke(["stats", ...args])
        assert.deepStrictEqual([code, stdout], [args[0] === "--db" ? 1 : 2, ""], args.join(" "))
        assert.match(stderr, /^fiberloop: [^\n]+\n$/)
        assert.match(stderr, words)
      }
    }))

  it.effect("stops at a signal, and when nobody reads", () =>
    Effect.gen(function*() {
      const place = yield* workplace()
      yield* place.run(["2+2"])
      assert.strictEqual((yield* place.on("stats", [], { signal: "SIGINT" })).code, 130)
      assert.strictEqual((yield* place.on("stats", [], { closesAt: 0 })).code, 141)
    }))
})
