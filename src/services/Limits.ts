/** What a run may use up when neither its agent nor its input says so: a setting, read when a run begins. */
import * as Context from "effect/Context"
import type * as RunPolicy from "../run/RunPolicy.ts"

/** Default: sets nothing, so 20 turns, 20 errors and 3 compactions in a row. Wrong values are `InvalidInput`. */
export const Limits = Context.Reference<RunPolicy.LimitsInput>("fiberloop/services/Limits", {
  defaultValue: () => ({})
})
