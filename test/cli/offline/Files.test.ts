import { assert, it } from "@effect/vitest"
import * as Files from "../../../src/cli/offline/Files.ts"
import * as Plan from "../../../src/cli/offline/Plan.ts"

it("an entry that is longer than a tool may answer is refused, with the limit and what to do", () => {
  function* listing(): Plan.Plan<string> {
    const listed = yield* Files.list({}, 1)
    return listed._tag === "Refused" ? listed.message : listed._tag
  }
  const cut: Plan.Replies = () => [{ result: "what is left of it", isFailure: false }]
  assert.deepStrictEqual(Plan.next(listing(), cut), {
    _tag: "Answer",
    text: "One entry of the result is longer than the 30,000 characters that a tool may answer. Ask for another file."
  })
})
