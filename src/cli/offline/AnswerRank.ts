/** Answers which files have the most or the fewest lines or bytes, from `list_files`. */
import * as Files from "./Files.ts"
import type { Rank } from "./Intent.ts"
import type { Plan } from "./Plan.ts"
import * as Wording from "./Wording.ts"

const superlatives = {
  lines: { most: "longest", fewest: "shortest" },
  bytes: { most: "largest", fewest: "smallest" }
}
/** So many more than asked for, to see which ones are equal to the last. */
const look = 10

interface Sized {
  readonly path: string
  readonly size: number
}

export function* plan({ by, count, order, where }: Rank): Plan<string> {
  const { folder, result } = yield* Files.within(
    where,
    (params) => Files.list({ ...params, sort: by, order: order === "most" ? "desc" : "asc" }, count + look)
  )
  if (result._tag === "Refused") return Wording.refusal(result, folder)
  const { entries, note, total } = result.value
  const sized = entries.flatMap(({ path, ...entry }) => entry[by] === null ? [] : [{ path, size: entry[by] }])
  const place = Wording.under(folder)
  const kind = Wording.file(where)
  if (total === 0) return `There are no ${kind}s${place}.`
  if (sized.length === 0) {
    return `There is no text file among the ${Wording.count(total, kind)}${place}: only text has lines.`
  }
  const shown = sized.slice(0, count)
  const adjective = superlatives[by][order]
  const unit = (size: number) => Wording.count(size, by === "lines" ? "line" : "byte")
  const equal = equalOnes(shown, sized.slice(count), unit)
  const notes = Wording.notes(note)
  const [only] = shown
  if (count === 1 && only !== undefined) {
    return Wording.lines(
      `The ${adjective} ${kind}${place} is ${Wording.name(only.path)} with ${unit(only.size)}.`,
      equal,
      notes
    )
  }
  return Wording.lines(
    shown.length < count
      ? `There ${shown.length === 1 ? "is" : "are"} only ${Wording.count(shown.length, kind)}${place}` +
        `${total > shown.length ? " with lines" : ""}, the ${adjective} first:`
      : `The ${count} ${adjective} ${kind}s${place}, by ${by}:`,
    shown.map(({ path, size }, index) => `${index + 1}. ${Wording.name(path)} (${unit(size)})`),
    equal,
    notes
  )
}

/** How ties were broken, and who was left out by that. */
const equalOnes = (
  shown: ReadonlyArray<Sized>,
  others: ReadonlyArray<Sized>,
  unit: (size: number) => string
): string => {
  const last = shown[shown.length - 1]?.size
  const left = others.filter(({ size }) => size === last)
  const hasTies = shown.some(({ size }, index) => size === shown[index + 1]?.size)
  if (left.length === 0) return hasTies ? "Equal ones are in the order of their paths." : ""
  const number = left.length === look
    ? `at least ${look} more have`
    : left.length === 1
    ? "1 more has"
    : `${left.length} more have`
  return `Equal ones are in the order of their paths; ${number} ${unit(last!)}: ` +
    `${left.map(({ path }) => Wording.name(path)).join(", ")}.`
}
