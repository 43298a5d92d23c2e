/** Reads how long a provider asks to wait. Does not own whether anyone waits. */
import * as Duration from "effect/Duration"

const decimal = /^\d{1,12}(\.\d+)?$/
/** IMF-fixdate, and the RFC 850 form that recipients must also read (RFC 9110, 5.6.7). */
const httpDate = /^[A-Z][a-z]+, \d{2}[ -][A-Z][a-z]{2}[ -]\d{2}(\d{2})? \d{2}:\d{2}:\d{2} GMT$/

/**
 * `retry-after-ms` (milliseconds), else `retry-after` (seconds, fractions allowed, or an HTTP date). A date that has
 * passed is zero; anything else that is not a time is as if it was not sent. Never negative, never NaN.
 */
export const fromHeaders = (
  headers: Readonly<Record<string, string | undefined>>,
  now: number
): Duration.Duration | undefined => {
  const millis = headers["retry-after-ms"]?.trim() ?? ""
  if (decimal.test(millis)) return Duration.millis(Number(millis))
  const value = headers["retry-after"]?.trim() ?? ""
  if (decimal.test(value)) return Duration.millis(Math.ceil(Number(value) * 1000))
  if (!httpDate.test(value)) return undefined
  const at = Date.parse(value)
  return Number.isNaN(at) ? undefined : Duration.millis(Math.max(0, at - now))
}
