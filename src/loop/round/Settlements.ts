/**
 * What an executor says became of a call, as the log may hold it: an executor may be code that is not ours, or be across a wire.
 *
 * Does not own what follows from it (`CallStep`), nor what is too large (`Outcomes`).
 */
import * as Foreign from "../../run/Foreign.ts"
import * as Frozen from "../../run/Frozen.ts"
import * as InputCheck from "../../run/InputCheck.ts"
import * as Bounds from "../../run/log/Bounds.ts"
import * as ToolOutcome from "../../run/ToolOutcome.ts"
import * as Usage from "../../run/Usage.ts"
import type * as ToolExecutor from "../../services/ToolExecutor.ts"

type Outcome = ToolOutcome.ToolOutcome

/**
 * The settlement in new objects. A call whose outcome is not valid gets `OutcomeUnknown`; sizes and usage that are not numbers
 * are left out.
 */
export const checked = (settlement: ToolExecutor.Settlement): ToolExecutor.Settlement =>
  Foreign.look(() => read(settlement), { outcome: unknown })

const read = (settlement: ToolExecutor.Settlement): ToolExecutor.Settlement => {
  const { originalSize, outcome: told, usage }: Partial<ToolExecutor.Settlement> = settlement ?? {}
  const outcome = plain(told) ?? InputCheck.decoded(told, ToolOutcome.ToolOutcome) ?? unknown
  if (originalSize === undefined && usage === undefined) return { outcome }
  return {
    outcome,
    ...(Number.isFinite(originalSize) ? { originalSize: originalSize! } : {}),
    ...(usage === undefined ? {} : { usage: { ...Usage.counted(usage) } })
  }
}

/** The call waits for other runs. */
export const isPaused = (told: ToolExecutor.Settlement | ToolExecutor.Paused): told is ToolExecutor.Paused =>
  Foreign.look(() => typeof told === "object" && told !== null && "waitsFor" in told, false)

const unknown: Outcome = { _tag: "OutcomeUnknown" }

/** A copy of what is plainly an outcome, as nearly all are. */
const plain = (outcome: Outcome | undefined): Outcome | undefined =>
  (outcome?._tag === "Succeeded" || outcome?._tag === "Failed") && !("content" in outcome) &&
    isJson(outcome.result, Bounds.deepest)
    ? Frozen.copy({ _tag: outcome._tag, result: outcome.result })
    : undefined

const isJson = (value: unknown, levels: number): boolean => {
  if (typeof value !== "object" || value === null) return isLeaf(value)
  if (levels === 0) return false
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) if (!isJson(value[i], levels - 1)) return false
    return true
  }
  if (Object.getPrototypeOf(value) !== Object.prototype) return false
  for (const key in value) if (!isJson(value[key as never], levels - 1)) return false
  return true
}

const isLeaf = (value: unknown): boolean =>
  typeof value === "string" || value === null || typeof value === "boolean" || Number.isFinite(value)
