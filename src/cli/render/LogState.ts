/**
 * What is kept while a log is shown as a transcript, and how lines of it stand apart. Pure.
 *
 * Does not own what events look like (`RenderLog`), nor what stands below them (`LogFooter`).
 */
import type * as Schema from "effect/Schema"
import type * as RunEvent from "../../run/RunEvent.ts"
import type * as Queue from "../../run/state/Queue.ts"
import type { Paint } from "./Paint.ts"

export interface Look {
  readonly paint: Paint
  readonly sessionId: string
  /** flags that the command which goes on with the session needs */
  readonly flags: ReadonlyArray<string>
  /** results and arguments whole, and the model's reasoning */
  readonly isFull: boolean
}

export interface State {
  /** what stands last: blank lines are between kinds, and around words */
  readonly last: "nothing" | "heading" | "words" | "line" | "end"
  readonly runs: number
  /** the last run is one of another program's agent */
  readonly isForeign: boolean
  readonly model: string | undefined
  /** the flags that name the last model, where the command can */
  readonly modelFlags: ReadonlyArray<string>
  /** calls without an outcome so far, by id */
  readonly open: ReadonlyMap<string, { readonly tool: string; readonly params: Schema.Json }>
  /** ids of the questions that have no answer */
  readonly asked: ReadonlySet<string>
  /** what was said to the run and has not been delivered */
  readonly queue: Queue.Queue
  /** what each run has used up, where it has ended */
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

/** Lines of one kind, with a blank one before them where they stand apart. */
export const say = (state: State, kind: Exclude<State["last"], "nothing">, lines: ReadonlyArray<string>): Step => {
  if (lines.length === 0) return [state, ""]
  const { last } = state
  const isApart = last !== "nothing" && last !== "heading" && (last !== kind || kind === "words")
  return [{ ...state, last: kind }, `${isApart ? "\n" : ""}${lines.map((line) => `${line}\n`).join("")}`]
}

export const dimmed = ({ paint }: Look, lines: ReadonlyArray<string>): ReadonlyArray<string> => lines.map(paint.dim)
