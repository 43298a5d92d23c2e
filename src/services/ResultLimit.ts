/** How long results of tools may be: a setting, checked by the loop when a run begins, and read by the executor at every call. */
import * as Context from "effect/Context"

/** Longer results are cut to this many characters, head and tail; `Infinity` leaves them whole. Default 30,000. */
export const ResultLimit = Context.Reference<number>("fiberloop/services/ResultLimit", {
  defaultValue: () => 30_000
})
