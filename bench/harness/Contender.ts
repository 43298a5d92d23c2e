/** What a contender is to the harness, and the work that all of them do. Does not own how it is measured. */

/** One call's text, in pieces of this. */
export const delta = "abcd"

/** What the scripted model and the tool do in every run. */
export interface Script {
  /** answers with tool calls before the last answer, which has none */
  readonly turns: number
  /** tool calls of each of those answers */
  readonly calls: number
  /** pieces of text of each answer, the last one too */
  readonly deltas: number
  /** how many of them come at once */
  readonly chunk: number
  /** what the source waits for before each so many: a microtask, in which whoever reads is let in, or a turn of the event loop */
  readonly between: "microtask" | "turn"
  /** milliseconds that each model call takes before its first piece */
  readonly latency: number
  /** milliseconds that the tool takes; 0 is at once, without a timer */
  readonly toolMillis: number
  /** calls of one answer that may run at once */
  readonly parallel: number
  /** the source stops behind its deltas without an end, and looks at its signal, or does not */
  readonly hang: "no" | "honours" | "ignores"
}

/** What was done, counted where it is done: in the source, in the tool, and where the application reads events. */
export interface Tally {
  /** requests to the model */
  requests: number
  /** the tool's results in all of the requests' conversations, which says that none was left out */
  remembered: number
  /** calls of the tool's handler with arguments that were validated */
  calls: number
  /** deltas and their characters, as the application's events have them */
  deltas: number
  characters: number
  /** outcomes of calls, as the application's events have them */
  results: number
  /** sources that hang now: what an abort leaves behind */
  hanging: number
  /** called for each delta, when a scenario wants to know */
  onDelta?: () => void
}

export const makeTally = (): Tally => ({
  requests: 0,
  remembered: 0,
  calls: 0,
  deltas: 0,
  characters: 0,
  results: 0,
  hanging: 0
})

/** A contender that is ready to run. */
export interface Runner {
  /**
   * One run of a new session, its events read to the end. Resolves when all of it is over, also where `signal` aborted it;
   * it may then reject.
   */
  readonly run: (signal?: AbortSignal) => Promise<void>
  /** What the last run's session takes, in bytes, or where `bytesOf` says so all that is stored. */
  readonly bytes?: () => Promise<number>
  readonly bytesOf?: "store"
  /** Opens the last run's session anew and makes its conversation; gives how many results it has. */
  readonly reopen?: () => Promise<number>
  readonly close?: () => Promise<void>
}

export interface Contender {
  readonly name: string
  /** Takes what a process does once: connections, files, agents. `tally` is for every run that follows. */
  readonly open: (script: Script, tally: Tally) => Promise<Runner>
}

/** The arguments of the next answer's calls, of which no two in a run are equal: equal ones would be a loop. */
export const numbers = (script: Script, rounds: number): ReadonlyArray<number> =>
  Array.from({ length: script.calls }, (_, i) => rounds * script.calls + i)

/** A tool's outcome for its arguments; waits as long as the script says. */
export const double = async (script: Script, tally: Tally, n: number): Promise<{ readonly doubled: number }> => {
  tally.calls++
  if (script.toolMillis > 0) await new Promise((resolve) => setTimeout(resolve, script.toolMillis))
  return { doubled: n * 2 }
}
