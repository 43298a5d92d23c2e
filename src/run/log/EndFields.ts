/**
 * What the ends of drives have in common, as fields of their events.
 *
 * Does not own which ends there are (`DurableEvent`), nor what follows from them.
 */
import * as Schema from "effect/Schema"
import * as Message from "../Message.ts"
import { Trace } from "../Pointer.ts"
import { Totals } from "../Totals.ts"
import * as Usage from "../Usage.ts"

/** What every end has. */
export const ofAll = {
  totals: Totals,
  /** what did not end within the grace period and was left behind: tools, the model, and what tools could not end */
  leftBehind: Schema.optionalKey(Schema.Array(Schema.String)),
  /** of the drive's span, where that is sampled */
  trace: Schema.optionalKey(Trace)
}

/** Of an end that leaves a run which goes on later: the inputs that wait until then, by the `seq` of their `InputQueued`. */
export const kept = { kept: Schema.optionalKey(Schema.Array(Schema.Finite)) }

/** For an end that may cut off a model call. */
export const cutShort = {
  /** what the call had used, if its provider had said so; `totals` include it */
  cutOff: Schema.optionalKey(Schema.Struct({ model: Message.ModelRef, usage: Usage.Usage })),
  /**
   * The texts of the answer that was cut off, as far as they came: said, once another run follows; not said, if this one goes on and
   * asks again
   */
  unfinished: Schema.optionalKey(Schema.Array(Schema.String)),
  ...ofAll
}
