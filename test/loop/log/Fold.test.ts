/** A session is read from its last compaction on, with the same result as reading all of it. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as ContextWindow from "../../../src/layers/ContextWindow.ts"
import * as SessionStoreMemory from "../../../src/layers/SessionStoreMemory.ts"
import * as SessionStoreSqlite from "../../../src/layers/SessionStoreSqlite.ts"
import * as Fold from "../../../src/loop/log/Fold.ts"
import * as Message from "../../../src/run/Message.ts"
import type * as RunEvent from "../../../src/run/RunEvent.ts"
import * as RunState from "../../../src/run/RunState.ts"
import * as Transcript from "../../../src/run/Transcript.ts"
import type * as SessionStore from "../../../src/services/SessionStore.ts"
import * as ScriptedModel from "../../../src/testing/ScriptedModel.ts"
import * as Compactions from "../../support/Compactions.ts"
import * as Draft from "../../support/Drafts.ts"
import * as Logs from "../../support/Logs.ts"
import { models } from "../../support/Odd.ts"
import * as RunLog from "../../support/RunLog.ts"
import * as TestAgent from "../../support/TestAgent.ts"
import * as TestStore from "../../support/TestStore.ts"

const check = (runs: number) => ({ arbitrary: { runs, size: 60, seed: "fold" } })

/** The store, with the number of events that were read from it. */
const counted = (store: SessionStore.Store) => {
  const count = { read: 0 }
  const read: SessionStore.Store["read"] = (sessionId, range) =>
    Stream.tap(store.read(sessionId, range), () => Effect.sync(() => count.read++))
  return { count, store: { ...store, read } }
}

/** The store, with its compactions hidden. */
const inFull = (store: SessionStore.Store): SessionStore.Store => ({
  ...store,
  lastOf: (sessionId, type, runId) =>
    type === "ContextCompacted" ? Effect.succeed(undefined) : store.lastOf(sessionId, type, runId)
})

const write = (store: SessionStore.Store, log: ReadonlyArray<RunEvent.Durable>) =>
  Effect.scoped(Effect.gen(function*() {
    const session = yield* store.open("s", { runId: "r", create: true })
    const [first, ...rest] = log
    if (first !== undefined) yield* session.append([first, ...rest])
  }))

const bytes = (transcript: Transcript.Transcript) =>
  JSON.stringify(models.map((reader) => Transcript.messages(transcript, reader)))

/** What a log holds of a run, found by reading all of it. */
const pastOf = (log: Logs.Log, runId: string): Fold.Known | undefined => {
  let state = RunState.empty
  let past: Fold.Known | undefined
  for (const event of log) {
    state = RunState.evolve(state, event)
    if (event.runId !== runId) continue
    if (event._tag === "RunStarted") past = { input: event.input, from: event.seq, to: event.seq, state }
    else if (past !== undefined) past = { ...past, to: state.end?.seq ?? event.seq, state }
  }
  return past
}

const anyLog = (log: Logs.Log, seed: number) => Compactions.withSnapshots(Compactions.insert(log, seed, 0.1))

const stored = Effect.fnUntraced(function*(played: Logs.Log, seed: number) {
  const log = anyLog(played, seed)
  const store = yield* SessionStoreMemory.make
  yield* write(store, log)
  return { log, store }
})

describe("a generated session", () => {
  it.effect.prop(
    "folds to the same state as reading all of it",
    [Logs.odd, Logs.seed],
    ([played, seed]) =>
      Effect.gen(function*() {
        const { log, store } = yield* stored(played.log, seed)
        const folded = yield* Fold.fold(store, "s", Fold.nothing)
        assert.deepStrictEqual(folded.state, log.reduce(RunState.evolve, RunState.empty))
        assert.strictEqual(bytes(folded.transcript), bytes(Transcript.fromLog(log)))
      }),
    check(200)
  )

  it.effect.prop(
    "has the same last run as reading all of it, except for what was measured before it",
    [Logs.odd, Logs.seed],
    ([played, seed]) =>
      Effect.gen(function*() {
        const { log, store } = yield* stored(played.log, seed)
        const { state } = yield* Fold.lastRun(store, "s")
        const whole = log.reduce(RunState.evolve, RunState.empty)
        assert.deepStrictEqual(state, { ...whole, measured: state.measured })
      }),
    check(200)
  )

  it.effect.prop(
    "has the runs that reading all of it finds",
    [Logs.tidy, Logs.seed],
    ([played, seed]) =>
      Effect.gen(function*() {
        const { log, store } = yield* stored(played.log, seed)
        const folded = yield* Fold.fold(store, "s", Fold.nothing)
        for (const runId of new Set([...log.map((event) => event.runId), "unknown"])) {
          const found = yield* Fold.find(store, "s", runId, folded)
          const past = pastOf(log, runId)
          assert.deepStrictEqual([found?.input, found?.from, found?.to], [past?.input, past?.from, past?.to])
          // what its result is made of
          const result = ({ end, openCalls, text }: RunState.RunState) => [
            end,
            openCalls.map(({ callId }) => callId),
            text
          ]
          assert.deepStrictEqual(found && result(found.state), past && result(past.state))
        }
      }),
    check(200)
  )

  it.effect.prop("continues to the same log", [Logs.tidy, Logs.seed], ([played, seed]) =>
    Effect.gen(function*() {
      const log = anyLog(played.log, seed)
      const goOn = Effect.fnUntraced(function*(see: (store: SessionStore.Store) => SessionStore.Store) {
        const base = yield* SessionStoreMemory.make
        yield* write(base, log)
        const { agent, script } = yield* TestAgent.make([
          ScriptedModel.text("a"),
          ScriptedModel.text("b"),
          ScriptedModel.text("c"),
          ScriptedModel.text("d")
        ], { store: TestStore.over(see(base)) })
        yield* Effect.exit(Stream.runDrain(agent.resume({ sessionId: "s", limits: { maxTurns: 40 } })))
        yield* agent.run({ sessionId: "s", runId: "hello", input: "hello" })
        const requests = (yield* script.requests).map(({ messages }) => messages)
        return { requests, log: yield* Stream.runCollect(base.read("s")) }
      }, Effect.scoped)
      assert.deepStrictEqual(yield* goOn((store) => store), yield* goOn(inFull))
    }), check(60))
})

it.effect("a session is not read on from what is known of a removed session that had its id", () =>
  Effect.gen(function*() {
    const [removed, store] = [yield* SessionStoreMemory.make, yield* SessionStoreMemory.make]
    const log = Draft.log(Draft.started("go"), Draft.turnStarted(1))
    yield* write(removed, log)
    yield* write(store, log.map((event) => ({ ...event, at: event.at + 1000 })))
    const known = yield* Fold.fold(removed, "s", Fold.nothing)
    assert.deepStrictEqual(yield* Fold.fold(removed, "s", known), known)
    const error = yield* Effect.flip(Fold.fold(store, "s", known))
    assert.strictEqual(error.reason._tag, "SessionNotFound")
  }))

describe("a session of 10,000 turns that was compacted near its end", () => {
  const turns = 10_000
  const long = Draft.log(
    { ...Draft.started("go"), runId: "first" },
    ...Array.from({ length: turns }, (_, i) => [
      { ...Draft.turnStarted(i + 1), runId: "first" },
      { ...Draft.assistant([Message.text(`answer ${i}`)], { turn: i + 1 }), runId: "first" },
      { ...Draft.turnFinished(i + 1), runId: "first" }
    ]).flat(),
    { ...Draft.completed({ turns }), runId: "first" }
  )
  const context = ContextWindow.layerWith({ compactThreshold: 40 })
  const input = { sessionId: "s", runId: "second", input: "more", limits: { maxTurns: 3 } }

  /** The session, its second run limited after a compaction and three turns, and what was read of it so far. */
  const make = Effect.fnUntraced(function*(base: SessionStore.Store) {
    yield* write(base, long)
    const { count, store } = counted(base)
    const again = [ScriptedModel.text("yes"), ScriptedModel.text("and yes")]
    const made = yield* TestAgent.make([...[1, 2, 3].map((n) => TestAgent.look(n)), ...again], {
      context,
      store: TestStore.over(store)
    })
    yield* made.agent.run(input)
    assert.strictEqual(count.read, long.length)
    const log = yield* made.store.log("s")
    const compaction = RunLog.only(log, "ContextCompacted").at(-1)!
    // what is sent, plus the compaction and the run's input
    const most = 3 * 40 + log.length - compaction.seq + 2
    const readBy = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
      Effect.gen(function*() {
        const before = count.read
        const result = yield* effect
        return { result, events: count.read - before }
      })
    return { ...made, log, most, readBy, store }
  })

  for (
    const [name, base] of [
      ["memory", SessionStoreMemory.make],
      ["SQLite", SessionStoreSqlite.make({ filename: ":memory:" })]
    ] as const
  ) {
    it.effect(`is resumed, and sent a message, reading only what came after the compaction (${name})`, () =>
      Effect.gen(function*() {
        const { agent, most, readBy, script } = yield* make(yield* base)
        const resumed = yield* readBy(Stream.runDrain(agent.resume({ sessionId: "s", limits: { maxTurns: 5 } })))
        assert.isAtMost(resumed.events, most)
        const sent = yield* readBy(agent.run({ sessionId: "s", input: "and more" }))
        assert.isAtMost(sent.events, most + 20)
        assert.strictEqual(sent.result.text, "and yes")
        const [, , before, after] = yield* script.requests
        assert.deepStrictEqual(after!.messages.slice(0, before!.messages.length), before!.messages)
      }))
  }

  it.effect("is read in full when its snapshot has another version", () =>
    Effect.gen(function*() {
      const { log } = yield* make(yield* SessionStoreMemory.make)
      const older = log.map((event): RunEvent.Durable =>
        event._tag === "ContextCompacted" ? { ...event, snapshot: { ...event.snapshot as object, version: 0 } } : event
      )
      const { count, store } = counted(yield* SessionStoreMemory.make)
      yield* write(store, older)
      const { state, transcript } = yield* Fold.fold(store, "s", Fold.nothing)
      assert.deepStrictEqual(state, log.reduce(RunState.evolve, RunState.empty))
      assert.strictEqual(bytes(transcript), bytes(Transcript.fromLog(log)))
      assert.isAtLeast(count.read, log.length)
    }))

  it.effect("replays a run that is sent again by its id", () =>
    Effect.gen(function*() {
      const { agent, most, readBy } = yield* make(yield* SessionStoreMemory.make)
      const sent = yield* readBy(agent.run(input))
      assert.strictEqual(sent.result._tag, "Limited")
      assert.isAtMost(sent.events, most + 1)
      const other = yield* readBy(Effect.flip(agent.run({ ...input, input: "other" })))
      assert.strictEqual(other.result.reason._tag, "RunConflict")
      assert.isAtMost(other.events, most + 1)
    }))

  it.effect("continues in a fork, and where it was imported", () =>
    Effect.gen(function*() {
      const { log, most, store } = yield* make(yield* SessionStoreMemory.make)
      yield* store.fork("s", { to: "copy" })
      const { count, store: other } = counted(yield* SessionStoreMemory.make)
      yield* write(other, JSON.parse(JSON.stringify(log)) as Logs.Log)
      const imported = yield* Fold.fold(other, "s", Fold.nothing)
      assert.isAtMost(count.read, most)
      const whole = Transcript.fromLog(log)
      for (const { state, transcript } of [imported, yield* Fold.fold(store, "copy", Fold.nothing)]) {
        assert.deepStrictEqual(state, log.reduce(RunState.evolve, RunState.empty))
        assert.strictEqual(bytes(transcript), bytes(whole))
      }
    }))
})
