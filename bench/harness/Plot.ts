/** Rows as an SVG: a line for each contender over the number in the scenario's name, both axes logarithmic. */
import type { Row } from "./Statistics.ts"

export interface Plot {
  readonly file: string
  readonly title: string
  /** the scenarios `<name>, <number>` */
  readonly scenario: string
  readonly metric: string
  readonly x: string
  readonly y: string
}

export const all: ReadonlyArray<Plot> = [
  {
    file: "session-length.svg",
    title: "Cost of a step against the session's length",
    scenario: "steps",
    metric: "us a step",
    x: "steps in the session",
    y: "microseconds a step"
  },
  {
    file: "concurrency.svg",
    title: "Runs at once: 5 steps each, a model call takes 20 ms",
    scenario: "concurrent",
    metric: "wall ms",
    x: "runs at once",
    y: "milliseconds until all are over"
  }
]

const size = { width: 760, height: 430, left: 64, right: 210, top: 44, bottom: 48 }
/** one for each line that a plot may have */
const colours = [
  "#7a7a7a",
  "#b0b0b0",
  "#0b6bcb",
  "#0aa3b5",
  "#6a4fc4",
  "#1d3557",
  "#c9503c",
  "#d18f00",
  "#3c8f3c",
  "#b5459c",
  "#8a5a2b",
  "#e0218a",
  "#7f9c00",
  "#111111"
]

interface Point {
  readonly x: number
  readonly y: number
}

/** The whole powers of ten around the values. */
const decades = (values: ReadonlyArray<number>): readonly [least: number, most: number] => [
  Math.floor(Math.log10(Math.min(...values))),
  Math.ceil(Math.log10(Math.max(...values)))
]

/** A text, escaped for use between the tags of an SVG. */
export const escape = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;")

/** Labels from top to bottom, at least one line of text apart. */
const apart = (heights: ReadonlyArray<number>): ReadonlyArray<number> => {
  const order = heights.map((y, i) => ({ y, i })).sort((a, b) => a.y - b.y)
  const placed: Array<number> = []
  let last = -Infinity
  for (const { i, y } of order) {
    last = Math.max(y, last + 15)
    placed[i] = last
  }
  return placed
}

/** The SVG, or nothing where no line has two points. */
export const render = (plot: Plot, rows: ReadonlyArray<Row>): string | undefined => {
  const lines = new Map<string, Array<Point>>()
  for (const { contender, median, metric, scenario } of rows) {
    const [name, number] = scenario.split(", ")
    if (name !== plot.scenario || metric !== plot.metric || !(median > 0)) continue
    lines.set(contender, [...(lines.get(contender) ?? []), { x: Number(number), y: median }])
  }
  const points = [...lines.values()].flat()
  if (![...lines.values()].some((line) => line.length > 1)) return undefined
  const { bottom, height, left, right, top, width } = size
  const [xLeast, xMost] = decades(points.map(({ x }) => x))
  const [yLeast, yMost] = decades(points.map(({ y }) => y))
  const atX = (x: number) => left + (Math.log10(x) - xLeast) / Math.max(1, xMost - xLeast) * (width - left - right)
  const atY = (y: number) => height - bottom - (Math.log10(y) - yLeast) / (yMost - yLeast) * (height - top - bottom)
  const range = (least: number, most: number) => Array.from({ length: most - least + 1 }, (_, i) => 10 ** (least + i))
  const text = (x: number, y: number, content: string, more = "") =>
    `<text x="${x}" y="${y}" ${more}>${escape(content)}</text>`
  const line = (x1: number, y1: number, x2: number, y2: number) =>
    `<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" stroke="#ddd"/>`

  const grid = [
    ...range(yLeast, yMost).flatMap((y) => [
      line(left, atY(y), width - right, atY(y)),
      text(left - 8, atY(y) + 4, y.toLocaleString("en"), `text-anchor="end"`)
    ]),
    ...range(xLeast, xMost).flatMap((x) => [
      line(atX(x), top, atX(x), height - bottom),
      text(atX(x), height - bottom + 18, x.toLocaleString("en"), `text-anchor="middle"`)
    ])
  ]
  const labels = apart([...lines.values()].map((line) => atY(line.at(-1)!.y)))
  const drawn = [...lines].flatMap(([name, line], i) => {
    const colour = colours[i % colours.length]!
    const path = line.map(({ x, y }) => `${atX(x).toFixed(1)},${atY(y).toFixed(1)}`)
    const weight = name.startsWith("fiberloop") ? 3 : 1.5
    return [
      `<polyline points="${path.join(" ")}" fill="none" stroke="${colour}" stroke-width="${weight}"/>`,
      text(width - right + 10, labels[i]! + 4, name, `fill="${colour}"`)
    ]
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12" fill="#444">`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    text(left, 24, plot.title, `font-size="15" fill="#111"`),
    ...grid,
    text((left + width - right) / 2, height - 10, plot.x, `text-anchor="middle"`),
    text(14, top - 8, plot.y),
    ...drawn,
    "</svg>",
    ""
  ].join("\n")
}
