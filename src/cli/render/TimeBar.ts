/** Bars on a time axis, one character per cell. Pure. */
import type * as Timeline from "../../run/Timeline.ts"
import { duration } from "./Time.ts"

/** The kinds of bars; `first` is the part of a model call before its first content. */
export type Kind = Timeline.Kind | "first"

/** Times are in milliseconds since the epoch. */
export interface Bar {
  readonly kind: Timeline.Kind
  readonly from: number
  /** `null`: to the end of the axis */
  readonly to: number | null
  /** milliseconds */
  readonly firstPart?: number
}

export interface Axis {
  readonly from: number
  readonly to: number
  readonly cells: number
}

const marks: Record<Kind, readonly [mark: string, meaning: string]> = {
  first: ["░", "until the model's first part"],
  model: ["█", "its answer"],
  attempt: ["▒", "an attempt that does not count"],
  retry: ["·", "a wait to retry"],
  tool: ["━", "a tool"],
  approval: ["┄", "a wait for a person"],
  compaction: ["≈", "a compaction"]
}

/** As many characters as the axis has cells; at least one of them is the bar's. */
export const draw = ({ firstPart = 0, from, kind, to }: Bar, axis: Axis): string => {
  const length = Math.max(1, axis.to - axis.from)
  const at = (time: number) => Math.min(1, Math.max(0, (time - axis.from) / length)) * axis.cells
  const start = Math.min(axis.cells - 1, Math.floor(at(from)))
  const end = Math.max(start + 1, Math.ceil(at(to ?? axis.to)))
  const first = kind === "model" ? Math.min(end - start - 1, Math.round(at(from + firstPart)) - start) : 0
  const waiting = marks.first[0].repeat(Math.max(0, first))
  return " ".repeat(start) + waiting + marks[kind][0].repeat(end - start - waiting.length) +
    " ".repeat(axis.cells - end)
}

/** `0 ms           1.5 s           3.0 s`, as times since `zero` */
export const ticks = ({ cells, from, to }: Axis, zero: number): string => {
  const [first, middle, last] = [from, (from + to) / 2, to].map((time) => duration(Math.max(0, time - zero))) as Ticks
  const ends = first + " ".repeat(Math.max(1, cells - first.length - last.length)) + last
  const at = Math.floor((cells - middle.length) / 2)
  const hasRoom = at > first.length + 1 && at + middle.length + 1 < cells - last.length
  return hasRoom ? ends.slice(0, at) + middle + ends.slice(at + middle.length) : ends
}

type Ticks = [first: string, middle: string, last: string]

export const kindsOf = ({ firstPart = 0, kind }: Bar): ReadonlyArray<Kind> =>
  kind === "model" && firstPart > 0 ? ["first", "model"] : [kind]

/** `━ a tool` for each kind. */
export const legend = (kinds: ReadonlySet<Kind>): ReadonlyArray<string> =>
  Object.entries(marks).flatMap(([kind, [mark, meaning]]) => kinds.has(kind as Kind) ? [`${mark} ${meaning}`] : [])
