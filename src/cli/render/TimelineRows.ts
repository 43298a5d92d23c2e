/**
 * The rows of a time axis: the name of each span, the place of its bar, and the words after it. Pure.
 *
 * Does not own how they are drawn (`RenderTimeline`, `TimeBar`).
 */
import { count } from "../../run/Quantity.ts"
import type * as Timeline from "../../run/Timeline.ts"
import * as CompactionLines from "./CompactionLines.ts"
import * as TerminalText from "./TerminalText.ts"
import { duration } from "./Time.ts"
import type * as TimeBar from "./TimeBar.ts"

export interface Row extends TimeBar.Bar {
  readonly turn: number
  readonly label: string
  readonly isBad: boolean
  readonly words: ReadonlyArray<string>
  /** the text below it */
  readonly note?: string
  /** whether it began before its drive */
  readonly isBefore: boolean
}

/** So many tool calls of a turn have a row of their own; the rest share one, unless all are asked for. */
const callsPerTurn = 20

/** The rows of spans, in their order. */
export const of = (spans: ReadonlyArray<Timeline.Span>, isFull: boolean): ReadonlyArray<Row> =>
  isFull ? spans.map(rowOf) : shortened(spans)

const labels: Record<Timeline.Kind, (name: string) => string> = {
  model: (name) => name.slice(name.indexOf("/") + 1),
  attempt: (name) => name.slice(name.indexOf("/") + 1),
  retry: () => "wait to retry",
  tool: (name) => `  ${name}`,
  approval: (name) => `  ask: ${name}`,
  compaction: (name) => name === "" ? "compact" : `compact: ${name}`
}

/** The name of a span. */
export const labelOf = ({ kind, name }: Pick<Timeline.Span, "kind" | "name">): string =>
  TerminalText.line(labels[kind](name))

/** Outcomes that need no word. */
const plain: ReadonlySet<string> = new Set(["stop", "tool-calls", "Succeeded", ""])

/** Whether a call with this outcome failed; one that runs or waits did not. */
const isFailed = (outcome: string): boolean => outcome !== "Succeeded" && outcome !== "Paused" && outcome !== ""

/** The row of one span. */
const rowOf = (span: Timeline.Span): Row => {
  const { cause, firstPart, from, kind, name, outcome, to, turn, usage } = span
  const isBad = kind === "attempt" || outcome === "denied" || (kind === "tool" && isFailed(outcome)) ||
    (kind === "compaction" && outcome === "failed")
  return {
    kind,
    turn,
    from,
    to,
    ...(firstPart === undefined ? {} : { firstPart }),
    label: labelOf(span),
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

const shortened = (spans: ReadonlyArray<Timeline.Span>): ReadonlyArray<Row> => {
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
  const failed = calls.filter(({ outcome }) => isFailed(outcome)).length
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
