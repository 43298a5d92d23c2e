/** Invalid settings of a strategy are refused when it is made. */
import { assert, describe, it } from "@effect/vitest"
import * as ContextKeyFacts from "../../../src/layers/ContextKeyFacts.ts"
import * as ContextPruning from "../../../src/layers/ContextPruning.ts"
import * as ContextSummary from "../../../src/layers/ContextSummary.ts"
import * as ContextWindow from "../../../src/layers/ContextWindow.ts"
import * as Message from "../../../src/run/Message.ts"
import * as Transcript from "../../../src/run/Transcript.ts"
import type * as Model from "../../../src/services/Model.ts"
import * as Drafts from "../../support/Drafts.ts"
import * as Views from "../../support/Views.ts"

const model = { info: { provider: "test", name: "test" } } as Model.Model["Service"]

const makers = {
  ContextWindow: ContextWindow.make,
  ContextPruning: ContextPruning.make,
  ContextSummary: (options: ContextSummary.Options) => ContextSummary.make(model, options),
  ContextKeyFacts: (options: ContextKeyFacts.Options) => ContextKeyFacts.make(model, options)
}

describe.each(Object.entries(makers))("%s", (_, make) => {
  it.each([{ keep: NaN }, { keep: -0.1 }, { keep: 1.1 }])("refuses the part %o", (options) => {
    assert.throws(() => make(options), /keep must be a fraction, a number from 0 to 1/)
  })

  it.each([{ compactThreshold: -1 }, { compactThreshold: NaN }, { maxTokens: 0 }])(
    "refuses the trigger %o",
    (options) => {
      assert.throws(() => make(options), /must be a number of at least/)
    }
  )

  it.each([{ keep: 0 }, { keep: 1 }, { compactThreshold: 0 }, { maxTokens: Infinity }, {}])("accepts %o", (options) => {
    assert.strictEqual(typeof make(options).plan, "function")
  })
})

describe.each([["ContextSummary", makers.ContextSummary], ["ContextKeyFacts", makers.ContextKeyFacts]] as const)(
  "%s",
  (_, make) => {
    it.each([0, -1, NaN])("refuses a budget of %s tokens", (budget) => {
      assert.throws(() => make({ budget }), /budget must be a number of at least 1/)
    })

    it("accepts a budget of one token", () => {
      assert.strictEqual(typeof make({ budget: 1 }).plan, "function")
    })
  }
)

describe("a plan", () => {
  const transcript = Transcript.fromLog(Drafts.log(
    ...Array.from({ length: 10 }, (_, i) => [
      { ...Drafts.started(`question ${i}`), runId: `run-${i}` },
      { ...Drafts.assistant([Message.text(`answer ${i}`)]), runId: `run-${i}` },
      { ...Drafts.completed(), runId: `run-${i}` }
    ]).flat()
  ))
  const said = Views.tokens(transcript)
  const plan = (options: ContextWindow.Options, view: Views.Options) =>
    ContextWindow.make(options).plan(Views.view(transcript, view))._tag

  it("is to send when instructions and tools fill the model's window, except by hand", () => {
    const view = { fixed: 1_000, limit: 1_000 }
    assert.strictEqual(plan({}, view), "Send")
    assert.strictEqual(plan({}, { ...view, force: "overflow" }), "Send")
    assert.strictEqual(plan({}, { ...view, force: "manual" }), "Compact")
    assert.strictEqual(plan({}, { ...view, limit: 1_001 }), "Compact")
  })

  it("follows maxTokens when the model's window is unknown", () => {
    assert.strictEqual(plan({ maxTokens: said - 1 }, { fixed: 0 }), "Compact")
    assert.strictEqual(plan({ maxTokens: said }, { fixed: 0 }), "Send")
    assert.strictEqual(plan({}, { fixed: 0 }), "Send")
  })

  it("follows the smaller of maxTokens and the model's window", () => {
    assert.strictEqual(plan({ maxTokens: said - 1 }, { fixed: 0, limit: said }), "Compact")
    assert.strictEqual(plan({ maxTokens: said }, { fixed: 0, limit: said - 1 }), "Compact")
    assert.strictEqual(plan({ maxTokens: said }, { fixed: 0, limit: said + 1 }), "Send")
  })

  it("ignores a maxTokens that instructions and tools already reach", () => {
    assert.strictEqual(plan({ maxTokens: 1_000 }, { fixed: 1_000 }), "Send")
    assert.strictEqual(plan({ maxTokens: 1_001 }, { fixed: 1_000 }), "Compact")
  })

  it("does not compact again at once for the number of messages", () => {
    assert.strictEqual(plan({ compactThreshold: 5 }, { inARow: 0 }), "Compact")
    assert.strictEqual(plan({ compactThreshold: 5 }, { inARow: 1 }), "Send")
  })

  it("compacts only by hand when the strategy is not automatic", () => {
    const options = { automatic: false, compactThreshold: 5 }
    assert.strictEqual(plan(options, {}), "Send")
    assert.strictEqual(plan(options, { force: "overflow" }), "Send")
    assert.strictEqual(plan(options, { force: "manual" }), "Compact")
  })
})
