/**
 * What a session looks like on a time axis: one row for each model call, attempt, wait and tool call. A fold, and pure; every
 * step returns the text to show next.
 *
 * Rows are as wide as the screen; only the sentence about how a drive ended may be longer. An axis covers a drive, or
 * `turnsPerAxis` turns of it: a longer drive has several, so that bars can be told apart and only those turns are held.
 *
 * Does not own what is in a row (`TimelineRows`).
 */
import * as RunResult from "../../run/RunResult.ts"
import type * as Timeline from "../../run/Timeline.ts"
import * as Beginning from "./Beginning.ts"
import type { Paint } from "./Paint.ts"
import * as TerminalText from "./TerminalText.ts"
import { duration } from "./Time.ts"
import * as TimeBar from "./TimeBar.ts"
import * as TimelineRows from "./TimelineRows.ts"
import * as Used from "./Used.ts"

export const turnsPerAxis = 20

export interface Look {
  readonly paint: Paint
  /** cells of a row */
  readonly columns: number
  readonly isFull: boolean
}

interface State {
  /** drives so far */
  readonly drives: number
  readonly drive: Timeline.DriveStarted | undefined
  /** where the axis under way begins, milliseconds since the epoch */
  readonly from: number
  readonly spans: ReadonlyArray<Timeline.Span>
  readonly turns: ReadonlySet<number>
  /** when the last drive ended */
  readonly endedAt: number | undefined
  /** the kinds that the legend has to explain */
  readonly kinds: ReadonlySet<TimeBar.Kind>
}

export const initial: State = {
  drives: 0,
  drive: undefined,
  from: 0,
  spans: [],
  turns: new Set(),
  endedAt: undefined,
  kinds: new Set()
}

type Step = readonly [State, string]

export const step = (look: Look, state: State, entry: Timeline.Entry): Step => {
  switch (entry._tag) {
    case "DriveStarted":
      return [
        { ...state, drives: state.drives + 1, drive: entry, from: entry.at, spans: [], turns: new Set() },
        `${state.drives === 0 ? "" : "\n"}${heading(look, state, entry)}\n`
      ]
    case "Span": {
      // an answer to a question, or its consequence, between two drives
      if (state.drive === undefined) return [state, `${between(look, entry)}\n`]
      const isNextAxis = !state.turns.has(entry.turn) && state.turns.size >= turnsPerAxis
      const [before, text] = isNextAxis ? flush(look, state, Math.min(entry.from, latest(state))) : [state, ""]
      const from = isNextAxis ? entry.from : before.from
      return [{ ...before, from, spans: [...before.spans, entry], turns: new Set(before.turns).add(entry.turn) }, text]
    }
    case "DriveEnded": {
      const [next, text] = flush(look, state, entry.at)
      return [{ ...next, drive: undefined, endedAt: entry.at }, `${text}${ending(look, entry, state)}\n`]
    }
  }
}

/** What the bars mean, for the kinds that were shown. */
export const finish = ({ columns, paint }: Look, { kinds }: State): string => {
  const lines: Array<string> = []
  for (const words of TimeBar.legend(kinds)) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + words.length + 3 <= columns) lines[lines.length - 1] = `${last}   ${words}`
    else lines.push(words)
  }
  return lines.length === 0 ? "" : `\n${lines.map((line) => `${paint.dim(line)}\n`).join("")}`
}

const heading = (
  { columns, paint }: Look,
  { endedAt }: State,
  { at, cause, drive, run }: Timeline.DriveStarted
): string => {
  const words = [
    `── run ${run}`,
    ...(drive === 1 ? [] : [`drive ${drive}`]),
    Beginning.time(at),
    ...(cause === "start" ? [] : [Beginning.resumed[cause]]),
    ...(endedAt === undefined || cause === "start" ? [] : [`${duration(Math.max(0, at - endedAt))} later`])
  ]
  return paint.bold(TerminalText.cut(words.join(" · "), columns))
}

const ending = ({ columns, paint }: Look, { at, end }: Timeline.DriveEnded, { drive }: State): string => {
  const took = `took ${duration(Math.max(0, at - (drive?.at ?? at)))}`
  if (end === null) {
    return paint.yellow(TerminalText.cut(`… no end: it is still running, or its process died · ${took}`, columns))
  }
  const used = Used.words(end.totals).slice(0, -1)
  const said = TerminalText.sentence(RunResult.outcome(end))
  return `${end._tag === "RunCompleted" ? paint.green(`✓ ${said}`) : paint.red(`✗ ${said}`)}\n` +
    paint.dim(TerminalText.cut(`  ${[...used, took].join(" · ")}`, columns))
}

const between = ({ columns, paint }: Look, span: Timeline.Span): string => {
  const { from, kind, name, outcome, to } = span
  const what = kind === "compaction" ? TimelineRows.labelOf(span) : TerminalText.line(name)
  const waited = to === null || to === from ? "" : ` after ${duration(to - from)}`
  return paint.dim(TerminalText.cut(`  ${what}: ${outcome}${waited}`, columns))
}

const latest = ({ from, spans }: State): number =>
  spans.reduce((last, span) => Math.max(last, span.to ?? span.from), from)

/** The axis under way with its rows, up to `to`. */
const flush = (look: Look, state: State, to: number): Step => {
  const rows = TimelineRows.of(state.spans, look.isFull)
  if (rows.length === 0) return [state, ""]
  const axis = {
    from: Math.min(state.from, ...rows.map(({ isBefore, from }) => isBefore ? state.from : from)),
    to: Math.max(to, latest(state)),
    cells: Math.max(10, look.columns - labelCells - wordCells - 2)
  }
  const lines = rows.map((row, i) => drawn(look, axis, row, row.turn !== rows[i - 1]?.turn))
  const kinds = new Set([...state.kinds, ...rows.flatMap(TimeBar.kindsOf)])
  const ticks = `${" ".repeat(labelCells)}${TimeBar.ticks(axis, state.drive?.at ?? axis.from)}`
  return [{ ...state, spans: [], turns: new Set(), kinds }, `${look.paint.dim(ticks)}\n${lines.join("")}`]
}

const headCells = 10
const labelCells = 27
const wordCells = 24

/** `turn 1    read_file        ━━━━━       2 ms`, and a note below it; only the first row of a turn names it. */
const drawn = ({ columns, paint }: Look, axis: TimeBar.Axis, row: TimelineRows.Row, isFirst: boolean): string => {
  const head = TerminalText.pad(isFirst && row.turn > 0 ? `turn ${row.turn}` : "", headCells)
  const label = TerminalText.pad(TerminalText.cut(row.label, labelCells - headCells - 1), labelCells - headCells)
  const bar = (row.isBad ? paint.red : paint.green)(TimeBar.draw(row, axis))
  const words = TerminalText.cut(row.words.join(" "), Math.max(0, columns - labelCells - axis.cells - 1))
  const note = row.note === undefined
    ? ""
    : `${paint.dim(TerminalText.cut(`${" ".repeat(headCells + 2)}${row.note}`, columns))}\n`
  return `${`${head}${label}${bar} ${words}`.trimEnd()}\n${note}`
}
