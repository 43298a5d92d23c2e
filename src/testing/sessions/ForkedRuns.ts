/** How the copy of a session ends when it was cut inside a run; a part of `SessionStoreSuite`. */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import * as Message from "../../run/Message.ts"
import type * as RunEvent from "../../run/RunEvent.ts"
import * as RunState from "../../run/RunState.ts"
import { SessionStore } from "../../services/SessionStore.ts"
import * as Draft from "./Drafts.ts"
import { base, type Durable, open, readAll, seqs, started, write } from "./Fixtures.ts"
import { conversation, fork, usage } from "./Forking.ts"
import { assert, describe, type Test } from "./TestRunner.ts"

export const forkedRuns = (name: string, test: Test): void => {
  describe(`${name}: fork, inside a run`, () => {
    test(
      "the copy ends with an abort, at the time of the fork",
      Effect.gen(function*() {
        yield* write("s", conversation)
        yield* TestClock.adjust("1 hour")
        yield* fork("s", "copy", 6)
        const { totals: _, ...end } = (yield* readAll("copy")).at(-1) as RunEvent.End
        assert.deepStrictEqual(end, {
          _tag: "RunAborted",
          ...base({ seq: 7, at: 3_600_000 }),
          reason: "forked"
        })
      })
    )

    test(
      "the abort counts what the run had used by then, and no time since",
      Effect.gen(function*() {
        yield* write("s", conversation)
        yield* TestClock.adjust("1 hour")
        yield* fork("s", "copy", 6)
        const end = (yield* readAll("copy")).at(-1) as RunEvent.End
        assert.deepStrictEqual(end.totals, {
          turns: 1,
          toolRounds: 1,
          toolCalls: 1,
          errors: 0,
          compactions: 0,
          duration: 5,
          usage: { inputTokens: 20, outputTokens: 10 }
        })
      })
    )

    test(
      "the abort counts only that run",
      Effect.gen(function*() {
        const turn = [Draft.turnStarted(1), Draft.assistant([Message.text("Sun.")], { usage }), Draft.turnFinished(1)]
        const second = turn.map((draft, i) => ({ ...draft, ...base({ seq: 12 + i, runId: "run-2" }) }) as Durable)
        yield* write("s", [...Arr.take(conversation, 11), ...second] as unknown as Arr.NonEmptyArray<Durable>)
        yield* fork("s", "copy")
        const end = (yield* readAll("copy")).at(-1) as RunEvent.End
        assert.strictEqual(end.runId, "run-2")
        assert.strictEqual(end.totals.turns, 1)
        assert.deepStrictEqual(end.totals.usage, usage)
      })
    )

    test(
      "the abort counts a run of many turns",
      Effect.gen(function*() {
        const turns = Arr.range(1, 700).flatMap((turn) => [
          Draft.turnStarted(turn),
          Draft.assistant([Message.text("on")], { turn, usage }),
          Draft.turnFinished(turn)
        ])
        yield* write("s", Draft.log(Draft.started("count"), ...turns) as unknown as Arr.NonEmptyArray<Durable>)
        yield* fork("s", "copy")
        const end = (yield* readAll("copy")).at(-1) as RunEvent.End
        assert.deepStrictEqual(end.totals, {
          ...Draft.totals,
          turns: 700,
          duration: 2100,
          usage: { inputTokens: 7000, outputTokens: 3500 }
        })
      })
    )

    test(
      "the copy takes the next run at once",
      Effect.gen(function*() {
        yield* write("s", conversation)
        yield* fork("s", "copy", 6)
        const state = (yield* readAll("copy")).reduce(RunState.evolve, RunState.empty)
        assert.isFalse(RunState.isOpen(state))
        const session = yield* open("copy", { create: false })
        assert.strictEqual(session.head(), 7)
        yield* session.append([started({ seq: 8, runId: "run-3" })])
        assert.deepStrictEqual(seqs(yield* readAll("copy")), Arr.range(1, 8))
      })
    )

    test(
      "open calls of a drive that died are settled in the copy and stay open in the session",
      Effect.gen(function*() {
        const log = Draft.log(
          Draft.started("What is the weather?"),
          Draft.turnStarted(1),
          Draft.assistant([Draft.call("search"), Draft.call("search")]),
          Draft.toolStarted("1.0"),
          { ...Draft.aborted, reason: "crashed" as const },
          Draft.resumed(2)
        )
        yield* write("s", log)
        const info = yield* fork("s", "copy", 5)
        const copy = yield* readAll("copy")
        assert.deepStrictEqual([info.head, info.end, seqs(copy)], [9, "RunAborted", Arr.range(1, 9)])
        assert.deepInclude(copy.at(-1), { reason: "forked" })
        const outcomes = copy.flatMap((event) => event._tag === "ToolSettled" ? [[event.callId, event.outcome]] : [])
        assert.deepStrictEqual(outcomes, [
          ["1.0", { _tag: "OutcomeUnknown" }],
          ["1.1", { _tag: "NotExecuted", reason: "stopped" }]
        ])
        const state = copy.reduce(RunState.evolve, RunState.empty)
        assert.deepStrictEqual([state.status, state.openCalls], ["aborted", []])
        assert.deepStrictEqual(yield* readAll("s"), [...log])
      })
    )

    test(
      "a run that only its store ended is over in the copy, and not in the session",
      Effect.gen(function*() {
        const log = Draft.log(Draft.started("x"), Draft.turnStarted(1), Draft.failed("StoreUnavailable"))
        yield* write("s", log)
        assert.strictEqual((yield* fork("s", "copy", 3)).end, "RunAborted")
        const copy = yield* readAll("copy")
        assert.deepStrictEqual(copy.slice(0, 3), [...log])
        assert.deepStrictEqual(copy.slice(3).map(({ _tag }) => _tag), ["RunResumed", "RunAborted"])
        const [info] = yield* SessionStore.use((store) => store.list({ ends: [undefined] }))
        assert.strictEqual(info?.sessionId, "s")
      })
    )

    test(
      "in the copy of a suspended run, a paused call is settled and one that waits for a person still waits",
      Effect.gen(function*() {
        const log = Draft.log(
          Draft.started("What is the weather?"),
          Draft.turnStarted(1),
          Draft.assistant([Draft.call("search"), Draft.call("search")]),
          Draft.toolStarted("1.0"),
          Draft.toolPaused("1.0", { sessionId: "below", runId: "below" }),
          Draft.approvalRequested("1.1"),
          Draft.suspended
        )
        yield* write("s", log)
        yield* fork("s", "copy")
        const copy = yield* readAll("copy")
        const outcomes = copy.flatMap((event) => event._tag === "ToolSettled" ? [[event.callId, event.outcome]] : [])
        assert.deepStrictEqual(outcomes, [["1.0", { _tag: "OutcomeUnknown" }]])
        const { openCalls, status } = copy.reduce(RunState.evolve, RunState.empty)
        assert.deepStrictEqual([status, openCalls.map(({ callId }) => callId)], ["suspended", ["1.1"]])
        assert.deepStrictEqual(yield* readAll("s"), [...log])
      })
    )

    test(
      "the run in the session itself does not end",
      Effect.gen(function*() {
        const session = yield* open("s", { runId: "live" })
        yield* session.append(Arr.take(conversation, 6) as Arr.NonEmptyArray<Durable>)
        yield* fork("s", "copy")
        yield* session.append([conversation[6]!])
        assert.deepStrictEqual(yield* readAll("s"), conversation.slice(0, 7))
      })
    )
  })
}
