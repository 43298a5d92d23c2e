/**
 * What an executor says became of a call, as the log may hold it: it may be code that is not ours, or have come over a wire.
 *
 * Does not own what follows from it (`CallStep`), nor what is too large (`Outcomes`).
 */
import * as InputCheck from "../../run/InputCheck.ts"
import * as Bounds from "../../run/log/Bounds.ts"
import * as ToolOutcome from "../../run/ToolOutcome.ts"
import * as Usage from "../../run/Usage.ts"
import type * as ToolExecutor from "../../services/ToolExecutor.ts"

type Outcome = ToolOutcome.ToolOutcome

/** Nobody knows what became of a call whose outcome is none; sizes and usage that are no numbers are left out. */
export const of = ({ originalSize, outcome, usage }: ToolExecutor.Settlement): ToolExecutor.Settlement => ({
  outcome: isPlain(outcome) ? outcome : InputCheck.decoded(outcome, ToolOutcome.ToolOutcome) ?? unknown,
  ...(Number.isFinite(originalSize) ? { originalSize: originalSize! } : {}),
  ...(usage === undefined ? {} : { usage: Usage.counted(usage) })
})

const unknown: Outcome = { _tag: "OutcomeUnknown" }

/** Surely one, as nearly all are. */
const isPlain = (outcome: Outcome): boolean =>
  (outcome?._tag === "Succeeded" || outcome?._tag === "Failed") && isJson(outcome.result, Bounds.deepest)

const isJson = (value: unknown, levels: number): boolean => {
  if (typeof value !== "object" || value === null) return isLeaf(value)
  if (levels === 0) return false
  if (Array.isArray(value)) return value.every((item) => isJson(item, levels - 1))
  if (Object.getPrototypeOf(value) !== Object.prototype) return false
  for (const key in value) if (!isJson(value[key as never], levels - 1)) return false
  return true
}

const isLeaf = (value: unknown): boolean =>
  typeof value === "string" || value === null || typeof value === "boolean" || Number.isFinite(value)
