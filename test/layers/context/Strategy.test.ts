/** Settings of strategies that are none are refused when the strategy is made. */
import { assert, describe, it } from "@effect/vitest"
import * as ContextKeyFacts from "../../../src/layers/ContextKeyFacts.ts"
import * as ContextPruning from "../../../src/layers/ContextPruning.ts"
import * as ContextSummary from "../../../src/layers/ContextSummary.ts"
import * as ContextWindow from "../../../src/layers/ContextWindow.ts"
import type * as Model from "../../../src/services/Model.ts"

const model = { info: { provider: "test", name: "test" } } as Model.Model["Service"]

const makers = {
  ContextWindow: ContextWindow.make,
  ContextPruning: ContextPruning.make,
  ContextSummary: (options: ContextSummary.Options) => ContextSummary.make(model, options),
  ContextKeyFacts: (options: ContextKeyFacts.Options) => ContextKeyFacts.make(model, options)
}

describe.each(Object.entries(makers))("%s", (_, make) => {
  it.each([{ keep: NaN }, { keep: -0.1 }, { keep: 1.1 }])("takes no part %o", (options) => {
    assert.throws(() => make(options), /keep is a part, a number from 0 to 1/)
  })

  it.each([{ compactThreshold: -1 }, { compactThreshold: NaN }, { maxTokens: 0 }])("takes no trigger %o", (options) => {
    assert.throws(() => make(options), /is a number of at least/)
  })

  it.each([{ keep: 0 }, { keep: 1 }, { compactThreshold: 0 }, { maxTokens: Infinity }, {}])("takes %o", (options) => {
    assert.strictEqual(typeof make(options).plan, "function")
  })
})

describe.each([["ContextSummary", makers.ContextSummary], ["ContextKeyFacts", makers.ContextKeyFacts]] as const)(
  "%s",
  (_, make) => {
    it.each([0, -1, NaN])("takes no budget of %s tokens", (budget) => {
      assert.throws(() => make({ budget }), /budget is a number of at least 1/)
    })

    it("takes a budget of one token", () => {
      assert.strictEqual(typeof make({ budget: 1 }).plan, "function")
    })
  }
)
