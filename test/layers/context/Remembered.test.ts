/** What one strategy remembered is read by another that continues from it. */
import { assert, it } from "@effect/vitest"
import * as Remembered from "../../../src/layers/context/Remembered.ts"
import * as Message from "../../../src/run/Message.ts"
import * as Transcript from "../../../src/run/Transcript.ts"
import * as Draft from "../../support/Drafts.ts"
import * as Views from "../../support/Views.ts"

const way = {
  name: "summary",
  parse: (data: unknown) => `parsed ${String(data)}`,
  adopt: (text: string) => `adopted ${text}`
}

it.each([["summary", "parsed data"], ["keyFacts", "adopted words"]])(
  "a summary reads what %s remembered as: %s",
  (by, expected) => {
    assert.strictEqual(Remembered.known(way, { text: "words", data: { by, remembered: "data" } }), expected)
  }
)

it("what is remembered is not what a person said first", () => {
  const transcript = Transcript.fromLog(Draft.log(
    Draft.started("hello"),
    Draft.assistant([Message.text("hi")]),
    Draft.turnFinished(1),
    { ...Draft.compacted(3, []), memory: { text: "They greeted.", data: null } },
    Draft.input("go on")
  ))
  assert.strictEqual(Remembered.firstWords(Views.view(transcript)), "go on")
})
