/** A tool call on one line: its name, a short form of its arguments, its outcome, and how long it took. Pure. */
import type * as Schema from "effect/Schema"
import type * as DurableEvent from "../../run/DurableEvent.ts"
import { count } from "../../run/Quantity.ts"
import * as ToolOutcome from "../../run/ToolOutcome.ts"
import type { Paint } from "./Paint.ts"
import * as TerminalText from "./TerminalText.ts"
import { duration } from "./Time.ts"

type Settled = DurableEvent.Of<"ToolSettled">

const longestArguments = 70
const longestOutcome = 120

/** `list_files pattern="src/**"` */
export const call = (tool: string, params: Schema.Json | undefined): string => {
  const shown = TerminalText.cut(argumentsOf(params), longestArguments)
  return `${TerminalText.line(tool)}${shown === "" ? "" : ` ${shown}`}`
}

/** Whether the line of a call with these arguments leaves some of them out. */
export const isCut = (params: Schema.Json | undefined): boolean =>
  TerminalText.width(argumentsOf(params)) > longestArguments

const argumentsOf = (params: Schema.Json | undefined): string => {
  const entries = typeof params === "object" && params !== null && !Array.isArray(params)
    ? Object.entries(params).map(([key, value]) => `${nameOf(key)}=${JSON.stringify(value)}`)
    : params === undefined
    ? []
    : [JSON.stringify(params)]
  return TerminalText.line(entries.join(" "))
}

/** A name that would read as several arguments is quoted. */
const nameOf = (key: string): string => /[\s="]/.test(key) ? JSON.stringify(key) : key

export const settled = (event: Settled, params: Schema.Json | undefined, paint: Paint): string => {
  const { duration: millis, hook } = event
  const [mark, colour] = isGood(event) ? ["✓", paint.green] as const : ["✗", paint.red] as const
  const words = TerminalText.cut(TerminalText.sentence(summary(event)), longestOutcome)
  return `● ${call(event.tool, params)}  ${colour(`${mark} ${words}`)}  ${
    paint.dim(hook === undefined ? duration(millis) : `by the hook ${TerminalText.line(hook)}`)
  }`
}

/** Whether it succeeded; for a command, whether that exited well, in its time. */
const isGood = ({ outcome, tool }: Settled): boolean => {
  if (outcome._tag !== "Succeeded" || tool !== "run_command") return outcome._tag === "Succeeded"
  const { result } = outcome
  if (typeof result !== "object" || result === null) return true
  const { exitCode = 0, timedOut } = result as Result
  return exitCode === 0 && timedOut !== true
}

const summary = ({ originalSize, outcome, tool }: Settled): string => {
  if (outcome._tag !== "Succeeded") return failure(ToolOutcome.toResult(outcome).result)
  if (originalSize !== undefined) return `cut, it has ${originalSize} characters`
  const { result } = outcome
  const known = typeof result === "object" && result !== null ? summaries.get(tool)?.(result as never) : undefined
  return known ?? size(result)
}

const failure = (result: Schema.Json): string =>
  typeof result === "string"
    ? result
    : typeof result === "object" && result !== null && "message" in result && typeof result.message === "string"
    ? result.message
    : JSON.stringify(result)

const size = (result: Schema.Json): string => {
  const text = typeof result === "string" ? result : JSON.stringify(result)
  return text.length <= 60 ? text : count(text.length, "character")
}

interface Result {
  readonly [key: string]: unknown
}

/** The command's own tools say what they found; a result of another shape says its size. */
const summaries = new Map<string, (result: Result) => string | undefined>(Object.entries({
  list_files: ({ entries, total }: Result) =>
    Array.isArray(entries) && typeof total === "number" ? part(entries.length, total, "file") : undefined,
  search_text: ({ files, total }: Result) =>
    typeof files === "number" && typeof total === "number"
      ? total === 0 ? "nothing found" : `${count(total, "line")} of ${count(files, "file")}`
      : undefined,
  read_file: ({ from, lines, to }: Result) =>
    typeof from === "number" && typeof to === "number" && typeof lines === "number"
      ? from === 1 && to >= lines ? count(lines, "line") : `lines ${from}-${to} of ${lines}`
      : undefined,
  calculate: ({ result }: Result) => typeof result === "string" ? result : undefined,
  write_file: ({ created, lines }: Result) =>
    typeof lines === "number" ? `${created === true ? "created" : "replaced"}, ${count(lines, "line")}` : undefined,
  edit_file: ({ replacements }: Result) =>
    typeof replacements === "number" ? count(replacements, "replacement") : undefined,
  run_command: ({ exitCode, output, outputSize, signal, timedOut }: Result) =>
    typeof output === "string" ? `${ended({ exitCode, signal, timedOut })}, ${outputOf(output, outputSize)}` : undefined
}))

const ended = ({ exitCode, signal, timedOut }: Result): string =>
  timedOut === true
    ? "out of time"
    : typeof exitCode === "number"
    ? `exit code ${exitCode}`
    : `ended by ${String(signal)}`

const outputOf = (output: string, size: unknown): string => {
  if (typeof size === "number") return `output cut, it has ${size} characters`
  const text = output.trim()
  return text === "" ? "no output" : count(text.split("\n").length, "line")
}

const part = (shown: number, total: number, noun: string): string =>
  shown === total ? count(total, noun) : `${shown} of ${count(total, noun)}`
