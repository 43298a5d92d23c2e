/**
 * How numbers are spread, in memory that does not grow with how many there are: each is kept to three significant
 * digits and counted, at most 900 places for each power of ten. Count, sum and maximum are exact. Pure.
 */
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"

export interface Distribution {
  readonly count: number
  readonly sum: number
  readonly max: number
  /** how often, by the number to three significant digits */
  readonly places: HashMap.HashMap<number, number>
}

export const empty: Distribution = { count: 0, sum: 0, max: 0, places: HashMap.empty() }

/** Adds a number of at least 0; an invalid one, such as a time by a clock that went backwards, counts as 0. */
export const add = (self: Distribution, value: number): Distribution => {
  const given = value > 0 && value < Infinity ? value : 0
  const place = Number(given.toPrecision(3))
  const before = Option.getOrElse(HashMap.get(self.places, place), () => 0)
  return {
    count: self.count + 1,
    sum: self.sum + given,
    max: Math.max(self.max, given),
    places: HashMap.set(self.places, place, before + 1)
  }
}

/**
 * The nearest-rank quantile, to three significant digits: the least number that at least `part` (0 to 1) of all numbers
 * do not exceed. `null` if there are none.
 */
export const quantile = (self: Distribution, part: number): number | null => {
  const rank = Math.ceil(part * self.count)
  let seen = 0
  for (const [place, times] of HashMap.toEntries(self.places).sort(([a], [b]) => a - b)) {
    seen += times
    if (seen >= rank) return Math.min(place, self.max)
  }
  return null
}

export const mean = ({ count, sum }: Distribution): number | null => count === 0 ? null : sum / count
