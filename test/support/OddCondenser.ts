/** A model that condenses as no model should: it says nothing, too much, no JSON, odd characters, or that it cannot. */
import * as RunError from "../../src/run/RunError.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import type { Dice } from "./Odd.ts"
import { texts } from "./Odd.ts"

const refusal = (tag: RunError.ProviderRefusal["_tag"]) =>
  ScriptedModel.fail(new RunError.NonRetryableError<RunError.ProviderRefusal>({ _tag: tag, message: "no" }))

const facts = (die: Dice) => ({
  intent: [die.pick(texts)],
  decisions: Array.from({ length: die.int(40) }, (_, i) => `decision ${i} ${die.pick(texts)}`),
  results: [die.pick(texts), "a result"],
  files: ["src/a.ts", "SRC/A.ts ", ""],
  openPoints: ["Ask ann."],
  closedPoints: die.chance(0.5) ? ["ask ann"] : []
})

/** One answer; equal dice give equal answers. */
export const answer = (die: Dice): ScriptedModel.Turn => {
  const json = JSON.stringify(facts(die))
  return die.pick<() => ScriptedModel.Turn>([
    () => ScriptedModel.text("They talked."),
    () => ScriptedModel.text("They talked."),
    () => ScriptedModel.text(json),
    () => ScriptedModel.text(json),
    () => ScriptedModel.text("Sure!\n```json\n", json, "\n```"),
    () => ScriptedModel.text(json.slice(0, json.length / 2)),
    () => ScriptedModel.text("{\"results\": 7}"),
    () => ScriptedModel.text(die.pick(texts)),
    () => ScriptedModel.text("many words ".repeat(die.int(4_000))),
    () => [ScriptedModel.text("half"), ScriptedModel.finish("length")],
    () => [ScriptedModel.text("filtered"), ScriptedModel.finish("content-filter")],
    () => [ScriptedModel.reasoning("I think so.")],
    () => [ScriptedModel.text("I look."), ScriptedModel.call("search", {})],
    () => [ScriptedModel.text("cut"), ScriptedModel.cut],
    () => refusal("ContextOverflow"),
    () => refusal("Authentication")
  ])()
}
