/** Where a conversation is cut in two. */
import { assert, it } from "@effect/vitest"
import * as Cut from "../../../src/layers/context/Cut.ts"
import * as Transcript from "../../../src/run/Transcript.ts"
import * as Draft from "../../support/Drafts.ts"
import * as Views from "../../support/Views.ts"

it("the last exchange is never cut off, however little room there is", () => {
  const worked = Transcript.fromLog(Draft.log(
    Draft.started("go"),
    ...[1, 2, 3].flatMap((turn) => [
      Draft.turnStarted(turn),
      Draft.assistant([Draft.call("work", { turn })], { turn }),
      Draft.settled(`${turn}.0`, "x".repeat(2_000)),
      Draft.turnFinished(turn)
    ])
  ))
  const cut = Cut.make(Views.view(worked, { force: "overflow" }), { messages: 100, tokens: 1 })
  assert.deepStrictEqual(cut?.left, Transcript.messages(worked).slice(1, -2))
})
