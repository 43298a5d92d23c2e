/** The state is a fold: total, counting each thing once, the same live and replayed. */
import { assert, describe, it } from "@effect/vitest"
import * as Message from "../../src/run/Message.ts"
import * as RunEvent from "../../src/run/RunEvent.ts"
import * as RunState from "../../src/run/RunState.ts"
import * as RunStatus from "../../src/run/RunStatus.ts"
import * as RunDecision from "../../src/run/state/RunDecision.ts"
import * as Draft from "../support/Drafts.ts"
import * as Logs from "../support/Logs.ts"

const check = (runs: number) => ({ arbitrary: { runs, size: 60, seed: "state" } })

const fold = (log: Logs.Log) => log.reduce(RunState.evolve, RunState.empty)
const foldDrafts = (...drafts: ReadonlyArray<Draft.Placed>) => fold(Draft.log(...drafts))

/** The state after each event. */
const states = (log: Logs.Log) => {
  let state = RunState.empty
  return log.map((event) => (state = RunState.evolve(state, event)))
}

const counters = ({ totals }: RunState.RunState) => [
  totals.turns,
  totals.toolRounds,
  totals.toolCalls,
  totals.errors,
  totals.compactions,
  totals.duration,
  totals.usage.inputTokens,
  totals.usage.outputTokens,
  totals.usage.cost ?? 0
]

describe("evolve", () => {
  it.prop("accepts any subsequence of a log", [Logs.odd, Logs.seed], ([{ log }, seed]) => {
    const part = Logs.subsequence(log, seed)
    const state = fold(part)
    assert.strictEqual(state.seq, part.at(-1)?.seq ?? 0)
    RunDecision.limitReached(state, 0)
    RunDecision.callsLeft(state)
  }, check(500))

  it.prop("changes neither the state it is given nor the event", [Logs.odd], ([{ log }]) => {
    let state = RunState.empty
    for (const event of log) {
      const before = JSON.stringify([state, event])
      const next = RunState.evolve(state, event)
      assert.strictEqual(JSON.stringify([state, event]), before)
      state = next
    }
  }, check(100))

  it.prop("yields the same state for a log that was stored and read back", [Logs.odd], ([{ log }]) => {
    assert.deepStrictEqual(fold(JSON.parse(JSON.stringify(log))), fold(log))
  }, check(100))

  it("skips events that a newer version may know", () => {
    const [event] = Draft.log(Draft.started("x"))
    const unknown = { ...event!, _tag: "Invented", seq: 7 } as unknown as RunEvent.Durable
    const state = foldDrafts(Draft.started("x"))
    assert.deepStrictEqual(RunState.evolve(state, unknown), { ...state, seq: 7 })
  })

  it.prop("leaves the status to the log: an end stays one until a new drive", [Logs.tidy], ([{ log }]) => {
    states(log).forEach((state, i) => {
      const { _tag } = log[i]!
      if (RunState.isOpen(state)) return
      const settling = ["ToolSettled", "ApprovalResolved", "InputReceived"]
      assert.isTrue(RunEvent.isEnd(log[i]!) || settling.includes(_tag), _tag)
      assert.isTrue(RunStatus.isEnd(state.status))
    })
  }, check(100))
})

describe("the counters", () => {
  it.prop("are what the run has used up, after every event", [Logs.tidy], ([{ log, totals }]) => {
    states(log).forEach((state, i) => assert.deepStrictEqual(state.totals, totals[i]))
  }, check(500))

  it.prop("never decrease in a run, even if events are missing", [Logs.tidy, Logs.seed], ([{ log }, seed]) => {
    const kept = new Set(Logs.subsequence(log, seed))
    const part = log.filter((event) => event._tag === "RunStarted" || kept.has(event))
    let before = RunState.empty
    for (const event of part) {
      const state = RunState.evolve(before, event)
      if (state.runId === before.runId) {
        const was = counters(before)
        counters(state).forEach((n, i) => assert.isAtLeast(n, was[i]!, `${event._tag} ${event.seq}`))
      }
      before = state
    }
  }, check(300))

  it.prop("stay the same when a run is resumed", [Logs.odd], ([{ log }]) => {
    let before = RunState.empty
    for (const event of log) {
      const state = RunState.evolve(before, event)
      if (event._tag === "RunResumed") assert.deepStrictEqual(state.totals, before.totals)
      before = state
    }
  }, check(200))

  it("start over with a new run", () => {
    const state = foldDrafts(
      Draft.started("one"),
      Draft.assistant([Message.text("hi")], { usage: { inputTokens: 5, outputTokens: 5 } }),
      Draft.completed({ turns: 1, duration: 3 }),
      { ...Draft.started("two"), runId: "run-2" }
    )
    assert.deepStrictEqual(state.totals, RunState.empty.totals)
    assert.strictEqual(state.runId, "run-2")
  })

  it("count drive time once: that of past drives and this one", () => {
    const state = foldDrafts(
      { ...Draft.started("x"), at: 1000 },
      { ...Draft.limited({ duration: 400 }), at: 1400 },
      { ...Draft.resumed(2), at: 9000 }
    )
    assert.strictEqual(RunState.totalsAt(state, 9500).duration, 900)
  })

  it("do not decrease when the clock is set back", () => {
    const state = foldDrafts({ ...Draft.started("x"), at: 1000 })
    assert.strictEqual(RunState.totalsAt(state, 500).duration, 0)
  })

  it("count a call that ran, and none that did not", () => {
    const state = foldDrafts(
      Draft.started("x"),
      Draft.assistant([Draft.call("search"), Draft.call("search"), Draft.call("none")]),
      Draft.toolStarted("1.0"),
      Draft.settled("1.0", "ok"),
      Draft.settled("1.1", { _tag: "NotExecuted", reason: "limit" }),
      Draft.settled("1.2", { _tag: "UnknownTool", available: [] })
    )
    assert.deepInclude(state.totals, { toolCalls: 1, toolRounds: 1, errors: 0 })
  })

  it("count an outcome once, even if a log has it twice", () => {
    const state = foldDrafts(
      Draft.started("x"),
      Draft.assistant([Draft.call("search")]),
      Draft.toolStarted("1.0"),
      Draft.settled("1.0", { _tag: "Failed", result: "no" }),
      Draft.settled("1.0", { _tag: "Failed", result: "no" })
    )
    assert.deepInclude(state.totals, { toolCalls: 1, toolRounds: 1, errors: 1 })
  })

  it("count discarded attempts and failed or timed out calls as errors, and no other outcome", () => {
    const outcomes = ["Failed", "TimedOut", "InvalidArguments", "Denied", "Interrupted", "OutcomeUnknown"] as const
    const counted = outcomes.filter((_tag) => {
      const outcome = { _tag, result: "", limit: 1, message: "", reason: "" } as Parameters<typeof Draft.settled>[1]
      return foldDrafts(Draft.started("x"), Draft.assistant([Draft.call("t")]), Draft.settled("1.0", outcome))
        .totals.errors > 0
    })
    assert.deepStrictEqual(counted, ["Failed", "TimedOut"])
    assert.strictEqual(foldDrafts(Draft.started("x"), Draft.discarded(1, 1)).totals.errors, 1)
  })

  it("reset consecutive compactions on an answer", () => {
    const compacted = Draft.compacted(0, [])
    const two = [Draft.started("x"), compacted, compacted]
    assert.strictEqual(foldDrafts(...two).compactionsInARow, 2)
    const answered = foldDrafts(...two, Draft.assistant([Message.text("hi")]))
    assert.deepStrictEqual([answered.compactionsInARow, answered.totals.compactions], [0, 2])
  })
})

describe("the calls of a message", () => {
  it("are open until settled, in call order", () => {
    const state = foldDrafts(
      Draft.started("x"),
      Draft.assistant([Draft.call("a"), Draft.call("b"), Draft.call("c")]),
      Draft.settled("1.1", "ok")
    )
    assert.deepStrictEqual(state.openCalls.map(({ callId, tool }) => [callId, tool]), [["1.0", "a"], ["1.2", "c"]])
    assert.strictEqual(state.status, "tool_running")
  })

  it("that the provider ran itself are not ours to settle", () => {
    const hosted = { ...Draft.call("web_search"), providerExecuted: true }
    const state = foldDrafts(Draft.started("x"), Draft.assistant([hosted, Draft.call("b")]))
    assert.deepStrictEqual(state.openCalls.map(({ callId, tool }) => [callId, tool]), [["1.0", "b"]])
  })

  it("wait for a person if every one of them does", () => {
    const calls = [Draft.started("x"), Draft.assistant([Draft.call("a"), Draft.call("b")]), Draft.toolStarted("1.0")]
    const one = [...calls, Draft.approvalRequested("1.1")]
    assert.strictEqual(foldDrafts(...one).status, "tool_running")
    assert.strictEqual(foldDrafts(...one, Draft.settled("1.0", "ok")).status, "awaiting_human")
  })

  it("run once a person has answered", () => {
    const state = foldDrafts(
      Draft.started("x"),
      Draft.assistant([Draft.call("a")]),
      Draft.approvalRequested("1.0"),
      Draft.suspended,
      Draft.resumed(2, { cause: "approval" }),
      Draft.approvalResolved("1.0")
    )
    assert.deepStrictEqual([state.status, state.openCalls[0]?.phase], ["tool_running", "pending"])
  })

  it("stay open across a suspension into the next drive", () => {
    const log = [
      Draft.started("x"),
      Draft.assistant([Draft.call("a")]),
      Draft.approvalRequested("1.0"),
      Draft.suspended
    ]
    assert.strictEqual(foldDrafts(...log).status, "suspended")
    assert.strictEqual(foldDrafts(...log, Draft.resumed(2)).openCalls.length, 1)
  })
})

describe("resuming", () => {
  it("takes new limits and data if they are given", () => {
    const started = Draft.started("x", { limits: { maxTurns: 1 }, data: { a: 1 } })
    const kept = foldDrafts(started, Draft.limited(), Draft.resumed(2))
    assert.deepStrictEqual([kept.limits, kept.input?.data], [{ maxTurns: 1 }, { a: 1 }])
    const given = foldDrafts(started, Draft.limited(), Draft.resumed(2, { limits: { maxTurns: 9 }, data: null }))
    assert.deepStrictEqual([given.limits, given.input?.data], [{ maxTurns: 9 }, null])
  })

  it("counts the attempts of the interrupted turn, including one that may have been under way", () => {
    const cut = [Draft.started("x"), Draft.turnStarted(1), Draft.discarded(1, 1), Draft.aborted, Draft.resumed(2)]
    assert.strictEqual(foldDrafts(...cut, Draft.turnStarted(1)).attempts, 2)
    assert.strictEqual(foldDrafts(...cut, Draft.turnStarted(2)).attempts, 0)
  })
})

describe("an answer", () => {
  const asked = (n: number) => ({ ...Draft.approvalRequested("1.0"), approvalId: `q${n}`, params: { n } })
  const answered = (n: number) => ({ ...Draft.approvalResolved("1.0"), approvalId: `q${n}` })
  const log = [Draft.started("go"), Draft.turnStarted(1), Draft.assistant([Draft.call("pay", {})])]

  it("to a question replaced by another about the same call does not apply to the call", () => {
    const [call] = foldDrafts(...log, asked(1), asked(2), answered(1)).openCalls
    assert.deepInclude(call, { phase: "awaiting", approvalId: "q2", params: { n: 2 } })
    assert.isUndefined(call?.decision)
  })

  it("counts only the first time", () => {
    const [call] = foldDrafts(...log, asked(1), answered(1), { ...answered(1), approved: false }).openCalls
    assert.isTrue(call?.decision?.approved)
  })
})
