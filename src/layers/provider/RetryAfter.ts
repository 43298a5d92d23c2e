/** Reads how long a provider asks to wait. Does not own whether anyone waits. */
import * as Duration from "effect/Duration"

const decimal = /^\d{1,12}(\.\d+)?$/
/** IMF-fixdate, and the forms of RFC 850 and of C's asctime that recipients must also read (RFC 9110, 5.6.7). */
const httpDate = /^[A-Z][a-z]+, \d{2}[ -][A-Z][a-z]{2}[ -]\d{2}(\d{2})? \d{2}:\d{2}:\d{2} GMT$/
const asctime = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/

/** Longer than any quota lasts: a provider that asks for more does not mean it. */
const longest = Duration.toMillis(Duration.days(366))

/**
 * `retry-after-ms` (milliseconds), else `retry-after` (seconds, fractions allowed, or an HTTP date). A date in the past is
 * zero. `now`, in milliseconds since the epoch, is by default the answer's own `date`; without that, a date is ignored, and so is a
 * value that is not a time or exceeds a year. Never negative, never NaN.
 */
export const fromHeaders = (
  headers: Readonly<Record<string, string | undefined>>,
  now = Date.parse(headers["date"] ?? "")
): Duration.Duration | undefined => {
  const millis = headers["retry-after-ms"]?.trim() ?? ""
  if (decimal.test(millis)) return sensible(Math.ceil(Number(millis)))
  const value = headers["retry-after"]?.trim() ?? ""
  if (decimal.test(value)) return sensible(Math.ceil(Number(value) * 1000))
  const date = asctime.test(value) ? `${value} GMT` : httpDate.test(value) ? value : ""
  return sensible(Math.max(0, Date.parse(date) - now))
}

const sensible = (millis: number): Duration.Duration | undefined =>
  millis <= longest ? Duration.millis(millis) : undefined
