/** What the last exchange of a conversation looks like to a person who comes back to it: short enough for a screen. Pure. */
import { count } from "../../run/Quantity.ts"
import type { Exchange } from "../session/LastExchange.ts"
import * as InputLines from "./InputLines.ts"
import type { Paint } from "./Paint.ts"
import * as SourceLines from "./SourceLines.ts"
import * as TerminalText from "./TerminalText.ts"
import * as ToolResult from "./ToolResult.ts"

interface Look {
  readonly paint: Paint
  /** cells of a row of the terminal */
  readonly columns: number
  /** the command that shows the whole conversation */
  readonly show: string
}

/** At most so many rows of the terminal. */
const most = { question: 4, answer: 12 }

/** The beginning of the question and the end of the answer, with how much of each is left out, and what that rests on, between blank lines. */
export const lines = ({ answer, isCutOff, question, sources }: Exchange, { columns, paint, show }: Look): string => {
  const asked = beginning(InputLines.lines(question).map(untabbed), most.question, columns)
  const said = answer === "" ? nothing : end(ToolResult.whole(answer).map(untabbed), most.answer, columns)
  const parts = [
    [...asked.shown, ...asked.left.map(({ amount, noun }) => paint.dim(`… ${count(amount, `more ${noun}`)}`))],
    [
      ...said.left.map(({ amount, noun }) => paint.dim(`… ${count(amount, noun)} before`)),
      ...said.shown,
      ...isCutOff ? [paint.dim("· cut off there")] : [],
      ...SourceLines.few(sources).map((line) => paint.dim(line)),
      ...asked.left.length + said.left.length === 0 ? [] : [paint.dim(`Read it all with: ${show}`)]
    ]
  ]
  return `${parts.filter((part) => part.length > 0).map((part) => `\n${part.join("\n")}\n`).join("")}\n`
}

const untabbed = (line: string): string => line.replaceAll("\t", "  ")

interface Excerpt {
  readonly shown: ReadonlyArray<string>
  /** how much is left out; none if nothing is */
  readonly left: ReadonlyArray<{ readonly amount: number; readonly noun: "character" | "line" }>
}

const nothing: Excerpt = { shown: [], left: [] }

/** The first lines that fit; of a first line that alone does not, its beginning. */
const beginning = (lines: ReadonlyArray<string>, rows: number, columns: number): Excerpt => {
  let used = 0
  const fitting = lines.findIndex((line) => (used += Math.max(1, Math.ceil(TerminalText.width(line) / columns))) > rows)
  if (fitting === -1) return { shown: lines, left: [] }
  if (fitting > 0) return { shown: lines.slice(0, fitting), left: [{ amount: lines.length - fitting, noun: "line" }] }
  const cut = TerminalText.cut(lines[0]!, rows * columns)
  return { shown: [cut], left: [{ amount: lines.join("\n").length - cut.length + 1, noun: "character" }] }
}

/** As `beginning`, from the other end. */
const end = (lines: ReadonlyArray<string>, rows: number, columns: number): Excerpt => {
  const { left, shown } = beginning(lines.toReversed().map(reversed), rows, columns)
  return { left, shown: shown.toReversed().map(reversed) }
}

const reversed = (line: string): string => Array.from(line).toReversed().join("")
