/** What becomes of an answer that was cut off: said once something follows it, not said if its run goes on. */
import { assert, describe, it } from "@effect/vitest"
import * as Message from "../../src/run/Message.ts"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import * as Transcript from "../../src/run/Transcript.ts"
import * as Brief from "../support/Brief.ts"
import * as Draft from "../support/Drafts.ts"

const notice = "(Your answer was cut off here.)"
const aborted = (...unfinished: ReadonlyArray<string>): RunEvent.Draft => ({ ...Draft.aborted, unfinished })

/** The messages of a log, briefly. */
const said = (...drafts: ReadonlyArray<RunEvent.Draft>) =>
  Brief.messages(Transcript.messages(Transcript.fromLog(Draft.log(...drafts))))

const begun = [Draft.started("count"), Draft.turnStarted(1)]
const resumed = Draft.resumed(2)

describe("an answer that was cut off", () => {
  it("is said before the next message, whose reader is told where it ends", () => {
    assert.deepStrictEqual(said(...begun, aborted("one, two", "and"), Draft.started("why?")), [
      "user: count",
      "assistant: one, two,and",
      `user: ${notice},why?`
    ])
  })

  it("is said too where a limit or a failure ended its run", () => {
    for (const end of [Draft.limited(), Draft.failed("Authentication")]) {
      assert.deepStrictEqual(said(...begun, { ...end, unfinished: ["one"] }, Draft.started("on")), [
        "user: count",
        "assistant: one",
        `user: ${notice},on`
      ])
    }
  })

  it("is not said where its run goes on, whatever came since", () => {
    const rest = [resumed, Draft.turnStarted(2), Draft.assistant([Message.text("1, 2, 3")], { turn: 2 })]
    const without = [...begun, Draft.aborted, ...rest, Draft.turnFinished(2)]
    const withIt = [...begun, aborted("one"), ...rest, Draft.turnFinished(2)]
    assert.deepStrictEqual(said(...withIt), said(...without))
    assert.deepStrictEqual(said(...begun, aborted("one"), Draft.input("quick"), resumed), ["user: count,quick"])
  })

  it("comes after what it answers, and before what was said meanwhile", () => {
    assert.deepStrictEqual(said(...begun, Draft.input("in words"), aborted("1, 2"), Draft.started("on")), [
      "user: count",
      "assistant: 1, 2",
      `user: ${notice},in words,on`
    ])
  })

  it("comes after the results that it answers", () => {
    const called = [
      ...begun,
      Draft.assistant([Draft.call("search", {})]),
      Draft.settled("1.0", "found"),
      Draft.turnFinished(1)
    ]
    assert.deepStrictEqual(said(...called, Draft.turnStarted(2), aborted("It is"), Draft.started("on")), [
      "user: count",
      "assistant: tool-call",
      "tool: tool-result",
      "assistant: It is",
      `user: ${notice},on`
    ])
  })

  it("is as clean as any other, and none where it is blank", () => {
    assert.deepStrictEqual(said(...begun, aborted("a\0b\ud800", " \n"), Draft.started("on")), [
      "user: count",
      "assistant: a\ufffdb\ufffd",
      `user: ${notice},on`
    ])
    assert.deepStrictEqual(said(...begun, aborted(" \n", ""), Draft.started("on")), ["user: count,on"])
  })

  it("may be left out with what is before it, and its note with it", () => {
    const [first, ...rest] = Draft.log(...begun, aborted("one"), Draft.compacted(3, [Message.user("summary")]), resumed)
    const compacted = Transcript.fromLog([first!, ...rest.slice(0, 3)])
    assert.deepStrictEqual(Transcript.messages(compacted), [Message.user("summary")])
    assert.deepStrictEqual(Transcript.messages(Transcript.append(compacted, rest[3]!)), [Message.user("summary")])
  })

  it("is taken back after a compaction that kept it, too", () => {
    const drafts = [...begun, aborted("one"), Draft.compacted(2, [Message.user("summary")])]
    assert.deepStrictEqual(said(...drafts), ["user: summary", "assistant: one", `user: ${notice}`])
    assert.deepStrictEqual(said(...drafts, resumed), ["user: summary"])
  })

  it("is read by a person as it is: nothing that the runtime says of it is shown as theirs", () => {
    const read = (...drafts: ReadonlyArray<RunEvent.Draft>) =>
      Brief.messages(Transcript.said(Transcript.fromLog(Draft.log(...drafts))))
    assert.deepStrictEqual(read(...begun, aborted("one, two")), ["user: count", "assistant: one, two"])
    assert.deepStrictEqual(read(...begun, aborted("one, two"), Draft.started("why?")), [
      "user: count",
      "assistant: one, two",
      "user: why?"
    ])
  })

  it("is nobody's last word: the latest that a person said stays what it was", () => {
    const transcript = Transcript.fromLog(Draft.log(...begun, aborted("one"), Draft.started("on")))
    assert.deepStrictEqual(Transcript.latestSaid(transcript), Message.user("on"))
    const before = Transcript.fromLog(Draft.log(...begun, aborted("one")))
    assert.deepStrictEqual(Transcript.latestSaid(before), Message.user("count"))
  })
})
