/**
 * What is kept while a log is shown as a transcript, and where blank lines go. Pure.
 *
 * Does not own what events look like (`RenderLog`), nor what is shown below them (`LogFooter`).
 */
import type * as Schema from "effect/Schema"
import type * as RunEvent from "../../run/RunEvent.ts"
import type * as Queue from "../../run/state/Queue.ts"
import type { Paint } from "./Paint.ts"

export interface Look {
  readonly paint: Paint
  readonly sessionId: string
  /** flags for the command that goes on with the session */
  readonly flags: ReadonlyArray<string>
  /** whether results and arguments are shown whole, with the model's reasoning */
  readonly isFull: boolean
}

export interface State {
  /** what was shown last: blank lines separate kinds, and surround words */
  readonly last: "nothing" | "heading" | "words" | "line" | "end"
  readonly runs: number
  /** whether the last run belongs to another program's agent */
  readonly isForeign: boolean
  readonly model: string | undefined
  /** the flags that name the last model, if the command can use it */
  readonly modelFlags: ReadonlyArray<string>
  /** calls without an outcome so far, by id */
  readonly open: ReadonlyMap<string, { readonly tool: string; readonly params: Schema.Json }>
  /** ids of the questions that have no answer */
  readonly asked: ReadonlySet<string>
  /** what was said to the run and is not delivered yet */
  readonly queue: Queue.Queue
  /** what each run has used, if it has ended */
  readonly totals: ReadonlyMap<string, RunEvent.Totals>
  /** the end of the last run, `undefined` while it goes on */
  readonly end: RunEvent.End | undefined
}

export const initial: State = {
  last: "nothing",
  runs: 0,
  isForeign: false,
  model: undefined,
  modelFlags: [],
  open: new Map(),
  asked: new Set(),
  queue: [],
  totals: new Map(),
  end: undefined
}

export type Step = readonly [State, string]

/** Lines of one kind, with a blank line before them where one is due. */
export const say = (state: State, kind: Exclude<State["last"], "nothing">, lines: ReadonlyArray<string>): Step => {
  if (lines.length === 0) return [state, ""]
  const { last } = state
  const isApart = last !== "nothing" && last !== "heading" && (last !== kind || kind === "words")
  return [{ ...state, last: kind }, `${isApart ? "\n" : ""}${lines.map((line) => `${line}\n`).join("")}`]
}

export const dimmed = ({ paint }: Look, lines: ReadonlyArray<string>): ReadonlyArray<string> => lines.map(paint.dim)
