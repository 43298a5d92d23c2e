/** Rows as tables for a terminal, one for each scenario and metric. */
import type { Row } from "./Statistics.ts"

const significant = (value: number): string =>
  value === 0 || Math.abs(value) >= 100 ? value.toFixed(0) : Number(value.toPrecision(3)).toString()

/** Empty where the ratio is not a finite number. */
const ratio = (value = NaN): string => Number.isFinite(value) ? `${significant(value)}x` : ""

const columns: ReadonlyArray<readonly [title: string, of: (row: Row) => string]> = [
  ["median", ({ median }) => significant(median)],
  ["min", ({ min }) => significant(min)],
  ["to floor", ({ toFloor }) => ratio(toFloor)],
  ["to pi", ({ toPi }) => ratio(toPi)]
]

export const render = (rows: ReadonlyArray<Row>): string =>
  [...Map.groupBy(rows, ({ metric, scenario }) => `${scenario}: ${metric}`)].map(([title, group]) => {
    const cells = [["", ...columns.map(([name]) => name)]]
    for (const row of group) cells.push([row.contender, ...columns.map(([, of]) => of(row))])
    const widths = cells[0]!.map((_, i) => Math.max(...cells.map((line) => line[i]!.length)))
    const lines = cells.map((line) =>
      line.map((cell, i) => i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!)).join("  ").trimEnd()
    )
    return `${title} (${group[0]!.rounds} rounds)\n${lines.join("\n")}\n`
  }).join("\n")
