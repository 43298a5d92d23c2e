/** The machine, written out by hand a second time: each of its moves, and no other. */
import { assert, describe, it } from "@effect/vitest"
import * as RunEvent from "../../src/run/RunEvent.ts"
import * as RunStatus from "../../src/run/RunStatus.ts"

/** From, when, to. */
type Move = readonly [RunEvent.Status, RunStatus.Trigger, RunEvent.Status]

const moves: ReadonlyArray<Move> = [
  // idle: the drive starts
  ["idle", "driveStarted", "preparing"],
  // preparing
  ["preparing", "limitReached", "limited"],
  ["preparing", "contextMustShrink", "compacting"],
  ["preparing", "messagesReady", "calling"],
  // compacting: it shrank / it failed
  ["compacting", "shrank", "preparing"],
  ["compacting", "compactionFailed", "failed"],
  // calling, streaming
  ["calling", "partsArrive", "streaming"],
  ["calling", "retryableError", "retrying"],
  ["streaming", "retryableError", "retrying"],
  ["calling", "contextOverflow", "compacting"],
  ["streaming", "contextOverflow", "compacting"],
  ["calling", "modelSwitched", "calling"],
  ["streaming", "modelSwitched", "calling"],
  ["calling", "modelFailed", "failed"],
  ["streaming", "modelFailed", "failed"],
  ["streaming", "emptyAnswer", "retrying"],
  ["retrying", "delayOver", "calling"],
  // streaming: settled with calls / without / with calls that no turn is left to read
  ["streaming", "settledWithCalls", "tool_running"],
  ["streaming", "settledWithoutCalls", "observing"],
  ["streaming", "settledWithoutTurnLeft", "observing"],
  // tool_running
  ["tool_running", "everyCallWaits", "awaiting_human"],
  ["tool_running", "everyCallSettled", "observing"],
  ["tool_running", "toolFailed", "failed"],
  // awaiting_human: answered, denied, expired / nobody here answers
  ["awaiting_human", "answered", "tool_running"],
  ["awaiting_human", "nobodyAnswers", "suspended"],
  // observing: continue / compact first / stop / limit; and an answer that does not fit the output schema
  ["observing", "continue", "preparing"],
  ["observing", "compactFirst", "compacting"],
  ["observing", "stop", "completed"],
  ["observing", "limitReached", "limited"],
  ["observing", "invalidOutput", "failed"],
  // any running one: duration, tokens, cost used up
  ["compacting", "limitReached", "limited"],
  ["calling", "limitReached", "limited"],
  ["streaming", "limitReached", "limited"],
  ["retrying", "limitReached", "limited"],
  ["tool_running", "limitReached", "limited"],
  ["awaiting_human", "limitReached", "limited"],
  // any running one: aborted, interrupted, shut down
  ["preparing", "aborted", "aborted"],
  ["compacting", "aborted", "aborted"],
  ["calling", "aborted", "aborted"],
  ["streaming", "aborted", "aborted"],
  ["retrying", "aborted", "aborted"],
  ["tool_running", "aborted", "aborted"],
  ["awaiting_human", "aborted", "aborted"],
  ["observing", "aborted", "aborted"],
  // any running one: the store fails
  ["preparing", "storeFailed", "failed"],
  ["compacting", "storeFailed", "failed"],
  ["calling", "storeFailed", "failed"],
  ["streaming", "storeFailed", "failed"],
  ["retrying", "storeFailed", "failed"],
  ["tool_running", "storeFailed", "failed"],
  ["awaiting_human", "storeFailed", "failed"],
  ["observing", "storeFailed", "failed"],
  // any running one: a defect, which never leaves as one (guarantee 9)
  ["preparing", "defect", "failed"],
  ["compacting", "defect", "failed"],
  ["calling", "defect", "failed"],
  ["streaming", "defect", "failed"],
  ["retrying", "defect", "failed"],
  ["tool_running", "defect", "failed"],
  ["awaiting_human", "defect", "failed"],
  ["observing", "defect", "failed"],
  // a guard hook blocks
  ["preparing", "hookBlocked", "failed"],
  ["calling", "hookBlocked", "failed"],
  ["streaming", "hookBlocked", "failed"],
  ["tool_running", "hookBlocked", "failed"],
  // any end: new input
  ["completed", "newInput", "preparing"],
  ["limited", "newInput", "preparing"],
  ["suspended", "newInput", "preparing"],
  ["failed", "newInput", "preparing"],
  ["aborted", "newInput", "preparing"],
  // every end but completed: resume
  ["suspended", "resumed", "preparing"],
  ["limited", "resumed", "preparing"],
  ["aborted", "resumed", "preparing"],
  ["failed", "resumed", "preparing"],
  ["suspended", "resumedWithOpenCalls", "tool_running"],
  ["limited", "resumedWithOpenCalls", "tool_running"],
  ["aborted", "resumedWithOpenCalls", "tool_running"],
  ["failed", "resumedWithOpenCalls", "tool_running"]
]

const triggers = [...new Set(moves.map(([, when]) => when))]
const statuses = RunEvent.Status.literals

const legal = new Map(moves.map(([from, when, to]) => [`${from} ${when}`, to]))
const illegal = statuses.flatMap((from) =>
  triggers.flatMap((when) => legal.has(`${from} ${when}`) ? [] : [[from, when] as const])
)

describe("the table", () => {
  it.each(moves)("leads from %s, when %s, to %s", (from, when, to) => {
    assert.strictEqual(RunStatus.next(from, when), to)
    assert.strictEqual(RunStatus.transition(from, when), to)
  })

  it("contains no other trigger or move", () => {
    const rows = RunStatus.table.flatMap((row) => row.from.map((from) => `${from} ${row.when} ${row.to}`))
    assert.deepStrictEqual(rows.toSorted(), moves.map((move) => move.join(" ")).toSorted())
  })

  it("is a function: no status has two ways for one trigger", () => {
    const keys = RunStatus.table.flatMap((row) => row.from.map((from) => `${from} ${row.when}`))
    assert.strictEqual(new Set(keys).size, keys.length)
  })

  it("dies on every other move, and names it", () => {
    assert.isAbove(illegal.length, 300)
    for (const [from, when] of illegal) {
      assert.isUndefined(RunStatus.next(from, when))
      assert.throws(() => RunStatus.transition(from, when), `illegal move: "${when}" in status "${from}"`)
    }
  })

  it("reaches every status from idle", () => {
    const reached = new Set<RunEvent.Status>(["idle"])
    for (let before = 0; before < reached.size;) {
      before = reached.size
      for (const [from, , to] of moves) if (reached.has(from)) reached.add(to)
    }
    assert.deepStrictEqual([...reached].toSorted(), [...statuses].toSorted())
  })

  it("gives every running status a way to an abort, a limit and a failure", () => {
    for (const status of statuses) {
      if (status === "idle" || RunStatus.isEnd(status)) continue
      assert.strictEqual(RunStatus.next(status, "aborted"), "aborted")
      assert.strictEqual(RunStatus.next(status, "limitReached"), "limited")
      assert.strictEqual(RunStatus.next(status, "storeFailed"), "failed")
    }
  })
})

describe("ends", () => {
  it("are completed, limited, suspended, failed and aborted", () => {
    assert.deepStrictEqual(statuses.filter(RunStatus.isEnd), ["completed", "limited", "suspended", "failed", "aborted"])
  })

  it("can be resumed, except for a completed run", () => {
    assert.deepStrictEqual(statuses.filter(RunStatus.isResumable), ["limited", "suspended", "failed", "aborted"])
  })

  it("can only be left by new input or by resuming", () => {
    for (const status of statuses.filter(RunStatus.isEnd)) {
      const ways = triggers.filter((when) => RunStatus.next(status, when) !== undefined)
      assert.deepStrictEqual(
        ways,
        status === "completed" ? ["newInput"] : ["newInput", "resumed", "resumedWithOpenCalls"]
      )
    }
  })
})
