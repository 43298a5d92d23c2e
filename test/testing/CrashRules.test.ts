/** What must hold of a log that a killed process left, beside what its tools did. */
import { assert, it } from "@effect/vitest"
import * as CrashRules from "../../src/testing/CrashRules.ts"
import * as Drafts from "../support/Drafts.ts"

const began = [
  Drafts.started("go"),
  Drafts.turnStarted(1),
  Drafts.assistant([Drafts.call("search")], { finishReason: "tool-calls" })
]
const settled = Drafts.log(...began, Drafts.toolStarted("1.0"), Drafts.settled("1.0", "found"))
const done = { key: "s/run-1/1.0", mayRepeat: false }

it("a call that has succeeded was done, after a death as after recovery", () => {
  const [said] = ["call 1.0 of search is said to have succeeded, and was not done"]
  assert.deepStrictEqual(CrashRules.afterDeath("s", settled, [done]), [])
  assert.deepStrictEqual(CrashRules.afterDeath("s", settled, []), [said])
  assert.include(CrashRules.afterRecovery("s", settled, settled, []), said)
})

it("nothing was done before its intent was stored", () => {
  assert.deepStrictEqual(CrashRules.afterDeath("s", Drafts.log(...began), [done]), [
    "s/run-1/1.0 was done without a stored intent"
  ])
})
