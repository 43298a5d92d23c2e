/** Curves as an SVG: one panel per curve, all over the same x axis. Does not own what is measured. */
import { escape } from "./Plot.ts"

export interface Curve {
  readonly title: string
  readonly unit: string
  readonly points: ReadonlyArray<readonly [x: number, y: number]>
}

const width = 720
const height = 180
const left = 60
const top = 28

export const svg = (title: string, x: string, curves: ReadonlyArray<Curve>): string => {
  const panels = curves.map((curve, i) =>
    `<g transform="translate(0 ${40 + i * (height + 50)})">${panel(curve, x)}</g>`
  )
  const total = 40 + curves.length * (height + 50)
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${
    width + left + 20
  } ${total}" font-family="sans-serif" ` +
    `font-size="12"><rect width="100%" height="100%" fill="white"/><text x="${left}" y="24" font-size="16">${
      escape(title)
    }</text>${panels.join("")}</svg>\n`
}

const panel = ({ points, title, unit }: Curve, x: string): string => {
  const right = Math.max(...points.map(([at]) => at))
  const most = nice(Math.max(...points.map(([, y]) => y)))
  const xOf = (at: number) => (left + at / right * width).toFixed(1)
  const yOf = (y: number) => (top + height - y / most * (height - top)).toFixed(1)
  const line = points.map(([at, y]) => `${xOf(at)},${yOf(y)}`).join(" ")
  const ticks = [0, most / 2, most].map((y) =>
    `<line x1="${left}" x2="${left + width}" y1="${yOf(y)}" y2="${yOf(y)}" stroke="#ddd"/>` +
    `<text x="${left - 6}" y="${yOf(y)}" text-anchor="end" dominant-baseline="middle">${y}</text>`
  )
  return `<text x="${left}" y="16">${escape(title)}, ${escape(unit)}</text>${ticks.join("")}` +
    `<polyline points="${line}" fill="none" stroke="#2563eb" stroke-width="1.5"/>` +
    `<text x="${left + width}" y="${top + height + 16}" text-anchor="end">${escape(x)} ${right}</text>`
}

/** The next number of 1, 2 or 5 times a power of ten. */
const nice = (value: number): number => {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1e-9)))
  return [1, 2, 5, 10].map((by) => by * power).find((most) => most >= value) ?? value
}
