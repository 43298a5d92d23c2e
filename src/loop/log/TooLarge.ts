/**
 * Why something that others say is not recorded, where it is more than an event may hold of it.
 *
 * Does not own how bytes are counted (`Bounds`), the limit (`SessionStore`), nor what is recorded instead.
 */
import * as Bounds from "../../run/log/Bounds.ts"
import * as RunError from "../../run/RunError.ts"
import * as SessionStore from "../../services/SessionStore.ts"

/** How many bytes of JSON a value has, where that is more than an event may hold of it; `undefined` otherwise. */
export const bytesOf = (value: unknown): number | undefined => Bounds.above(value, SessionStore.maxContentBytes)

/** `undefined` where an event may hold the value; `what` names it at the beginning of the error's message. */
export const of = (
  what: string,
  value: unknown
): RunError.NonRetryableError<typeof RunError.EventTooLarge.Type> | undefined => {
  const bytes = bytesOf(value)
  return bytes === undefined ? undefined : RunError.tooLarge(what, bytes, SessionStore.maxContentBytes)
}
