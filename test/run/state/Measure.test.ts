/** What is made of a provider's counts, and of what it refused as too much. */
import { assert, describe, it } from "@effect/vitest"
import * as Message from "../../../src/run/Message.ts"
import * as Measure from "../../../src/run/state/Measure.ts"
import * as Draft from "../../support/Drafts.ts"

const { model } = Draft
const other = { ...model, name: "other" }
const place = { seq: 1, at: 1, runId: "r", version: 1 }
const measured: Measure.Measure = { model, sent: 100, ratio: undefined, tooMuch: undefined }

describe("the ratio of a provider's count to the estimate", () => {
  it.each([[1.5, 1.5], [100, 4], [0.001, 0.25], [undefined, 1]])("of %s is believed as %d", (ratio, believed) => {
    assert.strictEqual(Measure.correction({ ...measured, ratio }, model, 1_000), believed)
  })

  it.each<readonly [string, ReadonlyArray<Message.AssistantPart>]>([
    ["called a tool of its own", [{ ...Draft.call("web_search"), providerExecuted: true }]],
    ["got a result of one", [{ type: "tool-result", id: "a", name: "web_search", result: "found", isFailure: false }]]
  ])("stays as it was after an answer for which the provider %s", (_, content) => {
    const answered = (content: ReadonlyArray<Message.AssistantPart>) => {
      const said = Draft.assistant(content, { usage: { inputTokens: 300, outputTokens: 1 } })
      return Measure.answer({ ...measured, ratio: 2 }, { ...said, ...place })?.ratio
    }
    assert.strictEqual(answered([...content, Message.text("It rains.")]), 2)
    assert.strictEqual(answered([Draft.call("search"), Message.text("It rains.")]), 3)
  })
})

describe("the size that was too much", () => {
  const error = { _tag: "ContextOverflow", message: "too long" } as const
  const tooMuch = (self: Measure.Measure, by: typeof model) =>
    Measure.discard(self, { ...Draft.discarded(1, 1), ...place, error, model: by })?.tooMuch

  it("is what was sent, and the least of several", () => {
    assert.strictEqual(tooMuch(measured, model), 100)
    assert.strictEqual(tooMuch({ ...measured, tooMuch: 80 }, model), 80)
    assert.strictEqual(tooMuch({ ...measured, tooMuch: 120 }, model), 100)
  })

  it("for another model says nothing about this one", () => {
    assert.isUndefined(tooMuch(measured, other))
  })
})
