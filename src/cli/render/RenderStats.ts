/** What the numbers of runs look like: a table for people, a line of JSON for programs. Pure. */
import { count } from "../../run/Quantity.ts"
import type * as RunStats from "../../run/RunStats.ts"
import type { Paint } from "./Paint.ts"
import * as TerminalText from "./TerminalText.ts"
import { duration } from "./Time.ts"

interface Look {
  readonly paint: Paint
  /** cells of a line; `Infinity` where lines are not cut */
  readonly columns: number
}

/** A row of numbers under the heads of its table, with words after them. */
interface Row {
  readonly label: string
  readonly cells: ReadonlyArray<string>
  readonly note?: string
}

/** The most tools and models that are shown. */
const mostNamed = 10

/** Room for each label of our own. Names of tools and models take more only where the numbers leave it. */
const labelCells = 18

export const json = (summary: RunStats.Summary): string => TerminalText.json(JSON.stringify(summary))

export const text = (summary: RunStats.Summary, look: Look): string => {
  const tables = [ends(summary), perRun(summary), times(summary), errors(summary), spent(summary)]
  const rows = tables.flat()
  const cells = Math.max(6, ...rows.flatMap((row) => row.cells.map(TerminalText.width)))
  const room = Math.max(labelCells, look.columns - Math.max(...rows.map((row) => row.cells.length)) * (cells + 2))
  const labels = Math.min(room, Math.max(...rows.map(({ label }) => TerminalText.width(label))))
  const line = ({ cells: numbers, label, note = "" }: Row) => {
    const aligned = numbers.map((number) => " ".repeat(cells - TerminalText.width(number)) + number).join("  ")
    const named = TerminalText.pad(TerminalText.cut(label, labels), labels)
    const all = `${named}  ${aligned}${note === "" ? "" : `  ${note}`}`.trimEnd()
    const cut = TerminalText.cut(all, look.columns)
    return label.startsWith(" ")
      ? `${cut}\n`
      : `${look.paint.bold(cut.slice(0, label.length))}${cut.slice(label.length)}\n`
  }
  return tables.filter((table) => table.length > 0).map((table) => table.map(line).join("")).join("\n")
}

const ends = ({ drives, ends, reasons, runs, sessions, successRate }: RunStats.Summary): ReadonlyArray<Row> => {
  const over = runs - ends.suspended - ends.unfinished
  return [
    {
      label: "runs",
      cells: [String(runs)],
      note: `in ${count(sessions, "session")}${drives === runs ? "" : `, ${drives} drives`}`
    },
    ...Object.entries(ends).flatMap(([end, n]) =>
      n === 0 ? [] : [{ label: `  ${end}`, cells: [String(n)], note: list(reasons[end] ?? {}) }]
    ),
    {
      label: "success",
      cells: [successRate === null ? "-" : `${Number((100 * successRate).toFixed(1))} %`],
      note: over === runs ? "" : `of ${over} that are over`
    }
  ]
}

const perRun = ({ compactions, retries, turns }: RunStats.Summary): ReadonlyArray<Row> => [
  { label: "of a run", cells: ["total", "mean", "p95", "max"] },
  { label: "  turns", cells: spread(turns) },
  {
    label: "  retries",
    cells: spread(retries),
    note: [
      ...(retries.runs === 0 ? [] : [`in ${count(retries.runs, "run")}`]),
      ...(retries.lostTime === 0 ? [] : [`${duration(retries.lostTime)} lost to failed attempts`])
    ].join(", ")
  },
  {
    label: "  compactions",
    cells: spread(compactions),
    note: compactions.runs === 0 || compactions.perHundredTurns === null
      ? ""
      : `in ${count(compactions.runs, "run")}, ${short(compactions.perHundredTurns)} in 100 turns`
  }
]

const spread = ({ max, mean, p95, total }: RunStats.Spread): ReadonlyArray<string> => [total, mean, p95, max].map(short)

const times = ({ approvals, latency, tools }: RunStats.Summary): ReadonlyArray<Row> => {
  const named = Object.entries(tools)
  const rows: ReadonlyArray<readonly [label: string, times: RunStats.Times, note?: string]> = [
    ["  a run", latency.runs],
    ["  the model", latency.model],
    ["    its first part", latency.firstPart],
    ["  a tool", latency.tools],
    ...named.slice(0, mostNamed).map(([name, times]) =>
      [`    ${TerminalText.line(name)}`, times, times.errors === 0 ? "" : count(times.errors, "error")] as const
    ),
    ["  an approval", latency.approvals, answered(approvals)]
  ]
  return [
    { label: "how long it took", cells: ["count", "p50", "p95", "max"] },
    ...rows.flatMap(([label, { count, max, p50, p95 }, note = ""]) =>
      count === 0
        ? []
        : [{ label, cells: [String(count), ...[p50, p95, max].map((n) => n === null ? "-" : duration(n))], note }]
    ),
    ...(named.length > mostNamed
      ? [{ label: "", cells: [], note: `and ${named.length - mostNamed} more tools: --json` }]
      : [])
  ]
}

const answered = ({ answered, approved, asked, denied }: RunStats.Summary["approvals"]): string =>
  [`of ${asked} asked`, `${approved} approved`, ...(answered > 0 ? [`${answered} answered`] : []), `${denied} denied`]
    .join(", ")

const errors = ({ errors }: RunStats.Summary): ReadonlyArray<Row> => {
  const rows = [
    ["  model attempts", errors.attempts],
    ["  tool calls", errors.tools],
    ["  runs", errors.runs]
  ] as const
  const found = rows.flatMap(([label, kinds]) => {
    const total = Object.values(kinds).reduce((a, b) => a + b, 0)
    return total === 0 ? [] : [{ label, cells: [String(total)], note: list(kinds) }]
  })
  return found.length === 0 ? [{ label: "errors", cells: ["0"] }] : [{ label: "errors", cells: [] }, ...found]
}

const spent = ({ cost, events, models, promptTokens, tokens, unpriced }: RunStats.Summary): ReadonlyArray<Row> => {
  const used = (of: RunStats.Tokens) =>
    [
      `${of.input} in${of.cachedInput === 0 ? "" : ` (${of.cachedInput} cached)`}`,
      `${of.output} out${of.reasoning === 0 ? "" : ` (${of.reasoning} reasoning)`}`
    ].join(", ")
  const named = Object.entries(models)
  return [
    { label: "tokens", cells: [String(tokens.input + tokens.output)], note: used(tokens) },
    ...(promptTokens.total === 0 ? [] : [{
      label: "  sent in a call",
      cells: [""],
      note: `mean ${short(promptTokens.mean)}, p95 ${short(promptTokens.p95)}, max ${short(promptTokens.max)}`
    }]),
    ...named.slice(0, mostNamed).map(([name, of]) => ({
      label: `  ${TerminalText.line(name)}`,
      cells: [String(of.input + of.output)],
      note: [used(of), `in ${count(of.calls, "call")}`, ...(of.cost === null ? [] : [`cost ${money(of.cost)}`])].join(
        ", "
      )
    })),
    {
      label: "cost",
      cells: [cost === null ? "-" : money(cost)],
      note: cost === null
        ? "no cost is known"
        : unpriced === 0
        ? ""
        : `without ${count(unpriced, "call")} of no known cost`
    },
    {
      label: "events",
      cells: [String(events.total)],
      note: `of a session mean ${short(events.mean)}, p95 ${short(events.p95)}, max ${short(events.max)}`
    }
  ]
}

const money = (cost: number): string => String(Number(cost.toPrecision(4)))

/** `RateLimited 4, TimedOut 1` */
const list = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts).map(([kind, n]) => `${kind} ${n}`).join(", ")

const short = (n: number | null): string => n === null ? "-" : String(Number(n.toFixed(n < 10 ? 2 : n < 100 ? 1 : 0)))
