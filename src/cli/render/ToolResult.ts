/** What a tool call gave back, below its line: whole, or the first few lines. Pure. */
import type * as Schema from "effect/Schema"
import { count } from "../../run/Quantity.ts"
import * as ToolOutcome from "../../run/ToolOutcome.ts"
import * as TerminalText from "./TerminalText.ts"

const mostLines = 4
const longestLine = 110

/** JSON in lines; a text as it is. */
export const text = (value: Schema.Json): string => typeof value === "string" ? value : JSON.stringify(value, null, 2)

/** The lines below `line`, which tells of the call; none where it says it all. JSON is on one line unless it is whole. */
export const below = (line: string, outcome: ToolOutcome.ToolOutcome, isFull: boolean): ReadonlyArray<string> => {
  const { result } = ToolOutcome.toResult(outcome)
  const onOne = typeof result === "string" ? result : JSON.stringify(result)
  if (onOne.trim() === "" || line.includes(TerminalText.sentence(onOne))) return []
  return linesOf(isFull ? text(result) : onOne, isFull)
}

/** All lines of a text, or the first few and how much there is. */
export const linesOf = (text: string, isFull: boolean): ReadonlyArray<string> => isFull ? whole(text) : shortened(text)

/** All lines, safe to show. */
export const whole = (text: string): ReadonlyArray<string> => TerminalText.lines(text.trimEnd()).split("\n")

const shortened = (text: string): ReadonlyArray<string> => {
  const lines = whole(text).map((line) => line.replaceAll("\t", "  "))
  const shown = lines.slice(0, mostLines).map((line) => TerminalText.cut(line, longestLine))
  const left = lines.length - mostLines
  if (left > 0) return [...shown, `… ${count(left, "more line")}; --full shows all`]
  const isCut = shown.some((line, at) => line !== lines[at])
  return isCut ? [...shown, `… ${count(text.length, "character")}; --full shows all`] : shown
}
