/** Runs whose context becomes too large for their model, in every possible way, and sessions that are compacted by hand. */
import * as Layer from "effect/Layer"
import * as ContextKeyFacts from "../../src/layers/ContextKeyFacts.ts"
import * as ContextPruning from "../../src/layers/ContextPruning.ts"
import * as ContextSummary from "../../src/layers/ContextSummary.ts"
import * as RunError from "../../src/run/RunError.ts"
import type * as Model from "../../src/services/Model.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import { call, type Scenario } from "./Scenario.ts"

export const overflow = ScriptedModel.fail(
  new RunError.NonRetryableError<RunError.ProviderRefusal>({ _tag: "ContextOverflow", message: "too long" })
)

/** A condensing model that answers by what it is asked. */
const condensing = (answer: (question: string) => ScriptedModel.Turn) =>
  ScriptedModel.layer((request) => answer(textOf(request)), { info: { provider: "test", name: "condenser" } })

/** A request as it is measured by `takes`. */
export const textOf = ({ messages }: Model.ModelRequest): string => JSON.stringify(messages)

const bySummary = Layer.provide(ContextSummary.layer, condensing(() => ScriptedModel.text("They talked.")))
const byFacts = Layer.provide(
  ContextKeyFacts.layer,
  condensing((question) =>
    question.includes("Answer with the JSON alone")
      ? ScriptedModel.text(JSON.stringify({ results: ["It was paid."] }))
      : ScriptedModel.text("It was paid.")
  )
)
const inVain = Layer.provide(ContextSummary.layer, condensing(() => overflow))

/** Alternating messages of about twenty tokens each. */
const history = (n: number): NonNullable<Scenario["history"]> =>
  Array.from({ length: n }, (_, i) => ({
    role: i % 2 === 0 ? "user" : "assistant",
    content: `message ${i}: ${"and so on ".repeat(6)}`
  }))

/** Larger than any of the windows here. */
const large = "a long story ".repeat(600)

export const all: Readonly<Record<string, Scenario>> = {
  "a context above the window of its model": {
    turns: [call("pay"), call("put")],
    history: history(30),
    contextWindow: 600
  },
  "an overflow, once": { turns: [call("pay"), call("put")], history: history(12), takes: 1_800 },
  "an overflow in the midst of a run, which a summary helps": {
    turns: [call("put", 900), call("pay"), call("put", 2)],
    history: history(8),
    takes: 2_000,
    context: bySummary
  },
  "an overflow that key facts help": { turns: [call("pay")], history: history(12), takes: 1_500, context: byFacts },
  "an overflow that pruning helps": {
    turns: [call("put", 900), call("look", 900), call("put", 901), call("pay")],
    takes: 2_400,
    context: ContextPruning.layer
  },
  "an overflow, always": { turns: [], history: history(40), takes: 0 },
  "an overflow in the compaction itself": {
    turns: [],
    history: history(12),
    takes: 0,
    context: inVain,
    fails: "ContextOverflow"
  },
  "a message above the window of its model": {
    turns: [],
    history: history(12),
    input: large,
    takes: 2_000,
    contextWindow: 600,
    fails: "ContextOverflow"
  },
  "instructions above the window of their model": {
    turns: [],
    history: history(12),
    instructions: large,
    takes: 2_000,
    contextWindow: 600,
    fails: "ContextOverflow"
  },
  "an answer that is cut at the output limit": {
    turns: [[ScriptedModel.text("half"), ScriptedModel.finish("length")], call("pay")],
    history: history(12)
  },
  "a compaction by hand": { turns: [call("pay")], history: history(12), context: bySummary, compacts: true }
}
