/**
 * What a session looks like on a time axis, a row for each model call, attempt, wait and tool call. A fold, and pure; every
 * step gives what stands next.
 *
 * Rows are as wide as the screen; only the sentence that says how a drive ended may be longer. An axis covers a drive, or `turnsPerAxis` turns of it: a longer drive has several, so that
 * bars can be told apart and nothing but those turns is held. Of a turn's tool calls those behind the first `callsPerTurn`
 * share a row, unless all are asked for.
 */
import { count } from "../../run/Quantity.ts"
import * as RunResult from "../../run/RunResult.ts"
import type * as Timeline from "../../run/Timeline.ts"
import * as CompactionLines from "./CompactionLines.ts"
import * as EndLine from "./EndLine.ts"
import type { Paint } from "./Paint.ts"
import * as TerminalText from "./TerminalText.ts"
import * as TimeBar from "./TimeBar.ts"
import { duration } from "./ToolLine.ts"

export const turnsPerAxis = 20
export const callsPerTurn = 20

export interface Look {
  readonly paint: Paint
  /** cells of a row */
  readonly columns: number
  readonly isFull: boolean
}

export interface State {
  /** drives so far */
  readonly drives: number
  readonly drive: Timeline.DriveStarted | undefined
  /** where the axis under way begins, milliseconds since the epoch */
  readonly from: number
  readonly spans: ReadonlyArray<Timeline.Span>
  readonly turns: ReadonlySet<number>
  /** when the last drive ended */
  readonly endedAt: number | undefined
  /** what the legend has to explain */
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
      // an answer to a question, or what became of it, while no drive was there
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

/** What the bars mean, as far as there were any. */
export const finish = ({ columns, paint }: Look, { kinds }: State): string => {
  const lines: Array<string> = []
  for (const words of TimeBar.legend(kinds)) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + words.length + 3 <= columns) lines[lines.length - 1] = `${last}   ${words}`
    else lines.push(words)
  }
  return lines.length === 0 ? "" : `\n${lines.map((line) => `${paint.dim(line)}\n`).join("")}`
}

const causes: Record<Timeline.DriveStarted["cause"], string> = {
  start: "",
  resume: "resumed",
  recovery: "recovered after a crash",
  approval: "resumed after an approval"
}

const heading = (
  { columns, paint }: Look,
  { endedAt }: State,
  { at, cause, drive, run }: Timeline.DriveStarted
): string => {
  const words = [
    `── run ${run}`,
    ...(drive === 1 ? [] : [`drive ${drive}`]),
    `${new Date(at).toISOString().slice(0, 19).replace("T", " ")} UTC`,
    ...(cause === "start" ? [] : [causes[cause]]),
    ...(endedAt === undefined || cause === "start" ? [] : [`${duration(Math.max(0, at - endedAt))} later`])
  ]
  return paint.bold(words.join(" · ").slice(0, columns))
}

const ending = ({ columns, paint }: Look, { at, end }: Timeline.DriveEnded, { drive }: State): string => {
  const took = `took ${duration(Math.max(0, at - (drive?.at ?? at)))}`
  if (end === null) return paint.yellow(`… no end: it goes on now, or its process died · ${took}`.slice(0, columns))
  const used = EndLine.used(end.totals).slice(0, -1)
  const said = TerminalText.sentence(RunResult.outcome(end))
  return `${end._tag === "RunCompleted" ? paint.green(`✓ ${said}`) : paint.red(`✗ ${said}`)}\n` +
    paint.dim(TerminalText.cut(`  ${[...used, took].join(" · ")}`, columns))
}

const between = ({ columns, paint }: Look, { from, name, outcome, to }: Timeline.Span): string =>
  paint.dim(TerminalText.cut(
    `  ${TerminalText.line(name)}: ${outcome}${to === null || to === from ? "" : ` after ${duration(to - from)}`}`,
    columns
  ))

const latest = ({ from, spans }: State): number =>
  spans.reduce((last, span) => Math.max(last, span.to ?? span.from), from)

/** The axis under way with its rows, up to `to`. */
const flush = (look: Look, state: State, to: number): Step => {
  const rows = look.isFull ? state.spans.map(rowOf) : rowsOf(state.spans)
  if (rows.length === 0) return [state, ""]
  const axis = {
    from: Math.min(state.from, ...rows.map(({ isBefore, from }) => isBefore ? state.from : from)),
    to: Math.max(to, latest(state)),
    cells: Math.max(10, look.columns - labelCells - wordCells - 2)
  }
  const zero = state.drive?.at ?? axis.from
  let turn: number | undefined
  const lines = rows.map((row) => {
    const isNew = row.turn !== turn
    turn = row.turn
    const head = TerminalText.pad(isNew && row.turn > 0 ? `turn ${row.turn}` : "", headCells)
    const label = padded(TerminalText.cut(row.label, labelCells - headCells - 1), labelCells - headCells)
    const bar = TimeBar.draw(row, axis)
    const colour = row.isBad ? look.paint.red : look.paint.green
    return `${head}${label}${colour(bar)} ${words(look, row, labelCells + axis.cells + 1)}`.trimEnd() +
      `\n${note(look, row)}`
  })
  const kinds = new Set([...state.kinds, ...rows.flatMap(TimeBar.kindsOf)])
  const ticks = `${" ".repeat(labelCells)}${TimeBar.ticks(axis, zero)}`
  return [{ ...state, spans: [], turns: new Set(), kinds }, `${look.paint.dim(ticks)}\n${lines.join("")}`]
}

const note = ({ columns, paint }: Look, { note }: Row): string =>
  note === undefined ? "" : `${paint.dim(TerminalText.cut(`${" ".repeat(headCells + 2)}${note}`, columns))}\n`

const headCells = 10
const labelCells = 27
const wordCells = 24

/** What was cut ends with a mark of one cell, and is counted as if it had two. */
const padded = (label: string, cells: number): string =>
  TerminalText.pad(label, label.endsWith("…") ? cells + 1 : cells)

interface Row extends TimeBar.Bar {
  readonly turn: number
  readonly label: string
  readonly isBad: boolean
  readonly words: ReadonlyArray<string>
  /** what stands below it */
  readonly note?: string
  /** it began before its drive did */
  readonly isBefore: boolean
}

const words = ({ columns }: Look, { words }: Row, used: number): string =>
  TerminalText.cut(words.join(" "), Math.max(0, columns - used))

const labels: Record<Timeline.Kind, (name: string) => string> = {
  model: (name) => name.slice(name.indexOf("/") + 1),
  attempt: (name) => name.slice(name.indexOf("/") + 1),
  retry: () => "wait to retry",
  tool: (name) => `  ${name}`,
  approval: (name) => `  ask: ${name}`,
  compaction: (name) => `compact: ${name}`
}

/** Outcomes that need no word. */
const plain: ReadonlySet<string> = new Set(["stop", "tool-calls", "Succeeded", ""])

const rowOf = (span: Timeline.Span): Row => {
  const { cause, firstPart, from, kind, name, outcome, to, turn, usage } = span
  const isBad = kind === "attempt" || outcome === "denied" || (kind === "tool" && outcome !== "Succeeded")
  return {
    kind,
    turn,
    from,
    to,
    ...(firstPart === undefined ? {} : { firstPart }),
    label: TerminalText.line(labels[kind](name)),
    isBad,
    isBefore: kind === "approval",
    ...(cause === undefined ? {} : { note: CompactionLines.why(name, cause) }),
    words: [
      to === null ? "…" : duration(to - from),
      ...(plain.has(outcome) ? [] : [TerminalText.line(outcome)]),
      ...(usage === undefined || usage.inputTokens + usage.outputTokens === 0
        ? []
        : [`${usage.inputTokens} in, ${usage.outputTokens} out`])
    ]
  }
}

/** Of each turn's calls those behind the first share a row. */
const rowsOf = (spans: ReadonlyArray<Timeline.Span>): ReadonlyArray<Row> => {
  const rows: Array<Row> = []
  const rest = new Map<number, Array<Timeline.Span>>()
  const seen = new Map<number, number>()
  for (const span of spans) {
    const calls = (seen.get(span.turn) ?? 0) + (span.kind === "tool" ? 1 : 0)
    seen.set(span.turn, calls)
    if (span.kind !== "tool" || calls <= callsPerTurn) rows.push(rowOf(span))
    else if (rest.has(span.turn)) rest.get(span.turn)!.push(span)
    else rest.set(span.turn, [span])
  }
  for (const [turn, calls] of rest) {
    const at = rows.findLastIndex((row) => row.turn === turn)
    rows.splice(at + 1, 0, together(turn, calls))
  }
  return rows
}

const together = (turn: number, calls: ReadonlyArray<Timeline.Span>): Row => {
  const failed = calls.filter(({ outcome }) => outcome !== "Succeeded").length
  const from = Math.min(...calls.map((span) => span.from))
  const to = calls.some((span) => span.to === null) ? null : Math.max(...calls.map((span) => span.to ?? span.from))
  return {
    kind: "tool",
    turn,
    from,
    to,
    label: `  and ${count(calls.length, "call")}`,
    isBad: failed > 0,
    isBefore: false,
    words: [to === null ? "…" : duration(to - from), ...(failed === 0 ? [] : [`${failed} failed`])]
  }
}
