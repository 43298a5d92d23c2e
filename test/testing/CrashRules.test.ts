/** What must hold of a log that a killed process left, beside what its tools did. */
import { assert, describe, it } from "@effect/vitest"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import * as CrashRules from "../../src/testing/CrashRules.ts"
import * as Drafts from "../support/Drafts.ts"

const began = [
  Drafts.started("go"),
  Drafts.turnStarted(1),
  Drafts.assistant([Drafts.call("search")], { finishReason: "tool-calls" })
]
const searched = [...began, Drafts.toolStarted("1.0"), Drafts.settled("1.0", "found")]
const settled = Drafts.log(...searched)
const done = { key: "s/run-1/1.0", mayRepeat: false }
const notDone = "call 1.0 of search is said to have succeeded, and was not done"

it("a call that has succeeded was done, after a death as after recovery", () => {
  assert.deepStrictEqual(CrashRules.afterDeath("s", settled, [done]), [])
  assert.deepStrictEqual(CrashRules.afterDeath("s", settled, []), [notDone])
  assert.include(CrashRules.afterRecovery("s", settled, settled, []), notDone)
})

it("nothing was done before its intent was stored", () => {
  assert.deepStrictEqual(CrashRules.afterDeath("s", Drafts.log(...began), [done]), [
    "s/run-1/1.0 was done without a stored intent"
  ])
})

const ends = [Drafts.turnFinished(1), Drafts.completed()]
const whole = [...searched, ...ends]
const ended = Drafts.log(...whole)

describe("a session that went on", () => {
  it.each<readonly [string, ReadonlyArray<RunEvent.Durable>, ReadonlyArray<string>]>([
    ["has what was stored, and more", settled, []],
    ["has lost an event", Drafts.log(...whole, Drafts.started("and then?")), [
      "event 8 (RunStarted) is not as it was stored"
    ]],
    ["has an event that was changed", Drafts.log(...began, Drafts.toolStarted("1.0"), Drafts.settled("1.0", "other")), [
      "event 5 (ToolSettled) is not as it was stored"
    ]]
  ])("%s", (_, before, found) => {
    assert.deepStrictEqual(CrashRules.afterRecovery("s", before, ended, [done]), found)
  })
})

describe("what was done twice", () => {
  it.each<readonly [string, ReadonlyArray<CrashRules.Done>, ReadonlyArray<string>]>([
    ["is found", [done, done], ["s/run-1/1.0 was done 2 times"]],
    ["is found, however often", [done, done, done], ["s/run-1/1.0 was done 3 times"]],
    ["may have been, where it may repeat", [{ ...done, mayRepeat: true }, { ...done, mayRepeat: true }], []],
    ["may have been once more, where the first time may repeat", [{ ...done, mayRepeat: true }, done], []]
  ])("%s", (_, effects, found) => {
    assert.deepStrictEqual(CrashRules.afterRecovery("s", ended, ended, effects), found)
  })

  it("is not known where nobody knows what was done", () => {
    assert.deepStrictEqual(CrashRules.afterRecovery("s", ended, ended, undefined), [])
  })
})

describe("a success of a call that did nothing", () => {
  const answered = (approved: boolean) => [
    Drafts.approvalRequested("1.0"),
    { ...Drafts.approvalResolved("1.0", approved), result: "found" }
  ]
  it.each<readonly [string, ReadonlyArray<Drafts.Placed>, ReadonlyArray<string>]>([
    ["is a hook's", [Drafts.settled("1.0", "found", { hook: "cache" })], []],
    ["is the result that a person gave", [...answered(true), Drafts.settled("1.0", "found")], []],
    ["is a fault where the person gave a result with a no", [...answered(false), Drafts.settled("1.0", "found")], [
      "event 6 (ToolSettled): 1.0 ran without an intent",
      notDone
    ]],
    ["is a fault where the person only said yes", [
      Drafts.approvalRequested("1.0"),
      Drafts.approvalResolved("1.0"),
      Drafts.toolStarted("1.0"),
      Drafts.settled("1.0", "found")
    ], [notDone]],
    ["is a fault where the result was given for another run", [
      ...answered(true),
      Drafts.settled("1.0", "found"),
      ...ends,
      ...searched.map((draft) => ({ ...draft, runId: "run-2" }))
    ], [notDone]]
  ])("%s", (_, drafts, found) => {
    assert.deepStrictEqual(CrashRules.afterDeath("s", Drafts.log(...began, ...drafts), []), found)
  })
})

describe("a call that is said to have never run", () => {
  const never = [...began, Drafts.toolStarted("1.0"), Drafts.settled("1.0", { _tag: "NotExecuted", reason: "stopped" })]
  const log = Drafts.log(...never, ...ends)
  const wasDone = "call 1.0 of search is said to have never run, and was done"

  it.each<readonly [string, ReadonlyArray<CrashRules.Done>, ReadonlyArray<string>]>([
    ["did nothing", [], []],
    ["is a fault where it was done", [done], [wasDone]],
    ["may have been done where it may repeat, as after a reconciler's wrong word", [{ ...done, mayRepeat: true }], []],
    ["is a fault where it was done once more than it may repeat", [{ ...done, mayRepeat: true }, done], [wasDone]]
  ])("%s", (_, effects, found) => {
    assert.deepStrictEqual(CrashRules.afterDeath("s", log, effects), found)
    assert.deepStrictEqual(CrashRules.afterRecovery("s", log, log, effects), found)
  })

  it("may have been done where nobody knows what was done", () => {
    assert.deepStrictEqual(CrashRules.afterDeath("s", log, undefined), [])
  })

  it("is another one than a call of which nobody knows whether it was done", () => {
    const unknown = [...began, Drafts.toolStarted("1.0"), Drafts.settled("1.0", { _tag: "OutcomeUnknown" })]
    assert.deepStrictEqual(CrashRules.afterDeath("s", Drafts.log(...unknown), [done]), [])
  })
})

it("a log has at least what its store had confirmed", () => {
  for (const confirmed of [0, 6, 7]) assert.deepStrictEqual(CrashRules.cutShort(ended, confirmed), [])
  assert.deepStrictEqual(CrashRules.cutShort(ended, 8), [
    "the store had confirmed event 8, and its log ends with event 7"
  ])
  assert.deepStrictEqual(CrashRules.cutShort([], 1), ["the store had confirmed event 1, and its log ends with event 0"])
})
