/** What a tool call returned, below its line: whole, or the first few lines. Pure. */
import type * as Schema from "effect/Schema"
import type * as DurableEvent from "../../run/DurableEvent.ts"
import { count } from "../../run/Quantity.ts"
import * as ToolOutcome from "../../run/ToolOutcome.ts"
import * as TerminalText from "./TerminalText.ts"

type Settled = Pick<DurableEvent.Of<"ToolSettled">, "outcome" | "tool">

const mostLines = 4
const longestLine = 110

/** JSON in lines; a text as it is. */
export const text = (value: Schema.Json): string => typeof value === "string" ? value : JSON.stringify(value, null, 2)

/** For the command's own tools: the field that holds a text; the line of the call says the rest. */
const fields: Readonly<Record<string, string>> = { read_file: "text", edit_file: "diff", run_command: "output" }

/** The lines below `line`, which describes the call; none where it says it all. JSON is on one line unless it is whole. */
export const below = (line: string, { outcome, tool }: Settled, isFull: boolean): ReadonlyArray<string> => {
  const { result } = ToolOutcome.toResult(outcome)
  const own = outcome._tag === "Succeeded" ? ownText(tool, result) : undefined
  if (own !== undefined) return own.trim() === "" ? [] : linesOf(own, isFull)
  const onOne = typeof result === "string" ? result : JSON.stringify(result)
  if (onOne.trim() === "" || line.includes(TerminalText.sentence(onOne))) return []
  return linesOf(isFull ? text(result) : onOne, isFull)
}

/** The text that the tool returned, and its note. */
const ownText = (tool: string, result: Schema.Json): string | undefined => {
  const field = Object.hasOwn(fields, tool) ? fields[tool]! : undefined
  if (field === undefined || typeof result !== "object" || result === null) return undefined
  const { [field]: text, note } = result as { readonly [key: string]: Schema.Json | undefined }
  if (typeof text !== "string") return undefined
  return typeof note === "string" ? `${text.trimEnd()}\n${note}` : text
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
