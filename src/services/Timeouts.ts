/** How long single steps may take when their agent does not say so: a setting, read at every drive. */
import * as Context from "effect/Context"
import type * as RunPolicy from "../run/RunPolicy.ts"

/** Default: sets nothing, so `RunPolicy.defaultTimeouts`. Wrong values are `InvalidInput`. */
export const Timeouts = Context.Reference<RunPolicy.TimeoutsInput>("fiberloop/services/Timeouts", {
  defaultValue: () => ({})
})
