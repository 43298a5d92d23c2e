/** What the model calls of a turn leave in the state of its run. */
import { assert, describe, it } from "@effect/vitest"
import * as Message from "../../../src/run/Message.ts"
import type * as RunEvent from "../../../src/run/RunEvent.ts"
import * as RunState from "../../../src/run/RunState.ts"
import * as Draft from "../../support/Drafts.ts"

const fold = (...drafts: ReadonlyArray<Draft.Placed>) => Draft.log(...drafts).reduce(RunState.evolve, RunState.empty)

const turn = (n: number, extra: Partial<Extract<RunEvent.Draft, { _tag: "TurnStarted" }>> = {}) => ({
  ...Draft.turnStarted(n),
  ...extra
})
const discarded = (attempt: number, extra: Partial<Extract<RunEvent.Draft, { _tag: "AttemptDiscarded" }>> = {}) => ({
  ...Draft.discarded(1, attempt),
  ...extra
})
const answer = Draft.assistant([Message.text("hi")])
const other: Message.ModelRef = { provider: "test", name: "other" }
const switched: RunEvent.Draft = { _tag: "ModelSwitched", turn: 1, from: Draft.model, to: other }
const crashed: RunEvent.Draft = { _tag: "RunAborted", reason: "crashed", totals: Draft.totals }
const calling = Draft.assistant([Draft.call("search")], { finishReason: "tool-calls" })
const died = [crashed, Draft.resumed(2)] as const

describe("a turn", () => {
  it("begins without the offer and the answer of the one before", () => {
    const { answer: open, offered } = fold(Draft.started("x"), turn(1, { tools: ["search"] }), answer, turn(2))
    assert.deepStrictEqual([offered, open], [undefined, undefined])
    assert.deepStrictEqual(fold(Draft.started("x"), turn(1, { tools: ["search"] })).offered, ["search"])
  })

  it("keeps its attempts when it starts again, and the next one starts at 0", () => {
    const before = [Draft.started("x"), turn(1), discarded(1), discarded(2)] as const
    assert.strictEqual(fold(...before, turn(1)).attempts, 2)
    assert.strictEqual(fold(...before, turn(2)).attempts, 0)
  })

  it("runs tools if its answer has calls, and is between two steps if it has none", () => {
    const statusAfter = (settled: RunEvent.Draft) => fold(Draft.started("x"), turn(1), settled).status
    assert.deepStrictEqual([statusAfter(calling), statusAfter(answer)], ["tool_running", "preparing"])
  })

  it("leaves no answer once it is over", () => {
    assert.isUndefined(fold(Draft.started("x"), turn(1), answer, Draft.turnFinished(1)).answer)
  })

  it("with all outcomes known ends a row of crashes, and no other does", () => {
    const crashes = (outcome: string | { readonly _tag: "OutcomeUnknown" }) =>
      fold(
        Draft.started("x"),
        turn(1),
        calling,
        Draft.toolStarted("1.0"),
        ...died,
        Draft.settled("1.0", outcome),
        Draft.turnFinished(1)
      ).crashes
    assert.deepStrictEqual([crashes("ok"), crashes({ _tag: "OutcomeUnknown" })], [0, 1])
  })
})

describe("an attempt that does not count", () => {
  it("is a retry if the same model is tried again, and counts its time and its wait", () => {
    const { attempts, lostTime, retries, totals } = fold(
      Draft.started("x"),
      turn(1),
      discarded(1, { duration: 100, delay: 10, usage: { inputTokens: 3, outputTokens: 1 } }),
      discarded(2, { duration: 200, usage: { inputTokens: 3, outputTokens: 1 } })
    )
    assert.deepStrictEqual({ attempts, lostTime, retries }, { attempts: 2, lostTime: 310, retries: 1 })
    assert.deepStrictEqual([totals.errors, totals.usage], [2, { inputTokens: 6, outputTokens: 2 }])
  })
})

describe("what is said to a run", () => {
  const followUp: RunEvent.Draft = { _tag: "InputQueued", kind: "followUp", messages: [Message.user("and then")] }

  it("is due with the next turn once the run continues for it", () => {
    const before = [Draft.started("x"), turn(1), followUp, answer] as const
    const goesOn = { ...Draft.turnFinished(1), decision: { _tag: "Continue", reason: "followUp" } } as const
    const isDue = ({ queued }: RunState.RunState) => queued.map((input) => input.isDue)
    assert.deepStrictEqual(isDue(fold(...before, Draft.turnFinished(1))), [false])
    assert.deepStrictEqual(isDue(fold(...before, goesOn)), [true])
  })

  it("is news: it clears the trail of calls", () => {
    const called = [Draft.started("x"), turn(1), calling, Draft.toolStarted("1.0"), Draft.settled("1.0", "ok")] as const
    assert.strictEqual(fold(...called).trail.length, 1)
    assert.strictEqual(fold(...called, Draft.input("stop")).trail.length, 0)
  })

  it("is a correction only if the runtime says that an answer does not fit", () => {
    const notices = [Draft.notice("no JSON", "invalidOutput"), Draft.notice("go on", "resume")] as const
    assert.strictEqual(fold(Draft.started("x"), ...notices).corrections, 1)
  })
})

describe("a model that takes over", () => {
  it("stays with the run until it fails", () => {
    const before = [Draft.started("x"), turn(1), switched] as const
    const kept = ({ switchedTo, switches }: RunState.RunState) => [switchedTo, switches]
    assert.deepStrictEqual(kept(fold(...before, answer, Draft.turnFinished(1), turn(2))), [other, 1])
    assert.deepStrictEqual(kept(fold(...before, Draft.aborted, Draft.resumed(2))), [other, 1])
    const failed: RunEvent.Draft = {
      _tag: "RunFailed",
      error: { _tag: "NonRetryableError", reason: { _tag: "Authentication", message: "no" } },
      totals: Draft.totals
    }
    assert.deepStrictEqual(kept(fold(...before, failed, Draft.resumed(2))), [undefined, 0])
  })
})

describe("an answer", () => {
  const compacted = Draft.compacted(0, [])

  it("ends a row of compactions, unless it was cut", () => {
    const inARow = (finishReason: RunEvent.FinishReason) =>
      fold(Draft.started("x"), compacted, turn(1), Draft.assistant([Message.text("hi")], { finishReason }))
        .compactionsInARow
    assert.deepStrictEqual([inARow("stop"), inARow("length")], [0, 1])
  })

  it("opens its calls, none of which has run", () => {
    const first = [Draft.started("x"), turn(1), calling, Draft.toolStarted("1.0"), Draft.settled("1.0", "ok")] as const
    assert.isTrue(fold(...first).hasRun)
    const { hasRun, openCalls } = fold(...first, turn(2), { ...calling, turn: 2 })
    assert.deepStrictEqual([hasRun, openCalls.map(({ callId }) => callId)], [false, ["2.0"]])
  })

  it("in a log with holes belongs to its turn even without that turn's start", () => {
    assert.strictEqual(fold(Draft.started("x"), { ...answer, turn: 3 }).turn, 3)
  })
})

describe("what is measured", () => {
  const sized = turn(1, { size: 100 })
  const overflow = discarded(1, { error: { _tag: "ContextOverflow", message: "too long" }, model: Draft.model })
  const counted = { ...answer, usage: { inputTokens: 150, outputTokens: 1 } }

  it("is the provider's count divided by the estimate, and carries over into the next run", () => {
    const measured = { model: Draft.model, sent: 100, ratio: 1.5, tooMuch: undefined }
    assert.deepStrictEqual(fold(Draft.started("x"), sized, counted).measured, measured)
    assert.deepStrictEqual(
      fold(Draft.started("x"), sized, counted, Draft.completed(), Draft.started("y")).measured,
      measured
    )
  })

  it("is too much once the provider has refused it, until it answers", () => {
    assert.strictEqual(fold(Draft.started("x"), sized, overflow).measured?.tooMuch, 100)
    assert.isUndefined(fold(Draft.started("x"), sized, overflow, counted).measured?.tooMuch)
  })
})
