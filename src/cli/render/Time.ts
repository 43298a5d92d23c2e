/** Times in words: how long something took, and how long ago it was. Pure. */
import { count } from "../../run/Quantity.ts"

/** `12 ms`, `1.5 s`, `2 min 5 s`, `3 h 12 min` */
export const duration = (millis: number): string =>
  millis < 1_000
    ? `${Math.round(millis)} ms`
    : millis < 60_000
    ? `${(millis / 1_000).toFixed(1)} s`
    : millis < 3_600_000
    ? `${Math.floor(millis / 60_000)} min ${Math.floor(millis % 60_000 / 1_000)} s`
    : `${Math.floor(millis / 3_600_000)} h ${Math.floor(millis % 3_600_000 / 60_000)} min`

const units: ReadonlyArray<readonly [millis: number, words: (n: number) => string]> = [
  [365 * 86_400_000, (n) => count(n, "year")],
  [30 * 86_400_000, (n) => count(n, "month")],
  [86_400_000, (n) => count(n, "day")],
  [3_600_000, (n) => `${n} h`],
  [60_000, (n) => `${n} min`]
]

/** `3 min ago`; clocks differ, so a time in the future counts as now. */
export const age = (millis: number): string => {
  const unit = units.find(([least]) => millis >= least)
  return unit === undefined ? "just now" : `${unit[1](Math.floor(millis / unit[0]))} ago`
}
