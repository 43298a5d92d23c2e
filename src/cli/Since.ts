/** A moment in the past, as people type it: how long ago, or a date. Pure. */
import * as Effect from "effect/Effect"
import { badValue, type Refusal } from "./Refusal.ts"

const units: Readonly<Record<string, number>> = {
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000
}

/** `2026-01-31`, with or without a time; without a zone it is UTC, as are all times that are shown. */
const date = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d)?)?$/

/** `Date` takes 2026-02-30 for a day in March. */
const isDay = (day: string): boolean => {
  const at = Date.parse(day)
  return Number.isFinite(at) && new Date(at).toISOString().startsWith(day)
}

/** Milliseconds since the epoch: of `30m`, `24h`, `7d` or `2w` before `now`, or of a date. */
export const check = (flag: string, typed: string, now: number): Effect.Effect<number, Refusal> => {
  const text = typed.trim()
  const [, number, unit] = /^(\d{1,6})([mhdw])$/.exec(text) ?? []
  const at = number !== undefined
    ? now - Number(number) * units[unit!]!
    : date.test(text) && isDay(text.slice(0, 10))
    ? Date.parse(text.length > 10 && !/(?:Z|[+-]\d\d:\d\d)$/.test(text) ? `${text.replace(" ", "T")}Z` : text)
    : NaN
  return Number.isFinite(at)
    ? Effect.succeed(at)
    : Effect.fail(badValue(
      `${flag} takes how long ago, as in 30m, 24h, 7d or 2w, or a date, as in 2026-01-31 or 2026-01-31T18:00, ` +
        `not ${JSON.stringify(typed)}`
    ))
}
