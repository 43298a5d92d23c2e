/** What a list shows of a session: a fold of its events. */
import { assert, it } from "@effect/vitest"
import * as SessionInfo from "../../../src/run/log/SessionInfo.ts"
import * as Draft from "../../support/Drafts.ts"

const titleOf = (input: string) =>
  Draft.log(Draft.started(input)).reduce(SessionInfo.evolveInfo, SessionInfo.newInfo("s", 0)).title

it.each([
  ["are its title", "What is a lamp?", "What is a lamp?"],
  ["of 80 characters are its title", "x".repeat(80), "x".repeat(80)],
  ["of more are cut, with a sign of it", "x".repeat(81), `${"x".repeat(79)}…`],
  ["of characters that are two code units count as characters", "\u{1f4a1}".repeat(80), "\u{1f4a1}".repeat(80)],
  ["stand on one line", " What\n is\ta lamp? ", "What is a lamp?"]
])("the first words of a session %s", (_, input, title) => {
  assert.strictEqual(titleOf(input), title)
})
