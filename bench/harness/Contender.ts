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
  /** the source stops after its deltas without an end, and looks at its signal, or does not */
  readonly hang: "no" | "honours" | "ignores"
  /** the arguments of calls are no numbers: of a tool that validates, no handler runs */
  readonly isWrong?: boolean
}

/** What was done, counted where it is done: in the source, in the tool, and where the application reads events. */
export interface Tally {
  /** requests to the model */
  requests: number
  /** the tool's results in all of the requests' conversations, which says that none was left out */
  remembered: number
  /** calls of the tool's handler, the sum of their arguments, and how many ran at once at most */
  calls: number
  sum: number
  running: number
  widest: number
  /** deltas and their characters, as the application's events have them */
  deltas: number
  characters: number
  /** outcomes of calls, as the application's events have them */
  results: number
  /** sources that hang now: what an abort leaves behind */
  hanging: number
  /** called for each request with its conversation, in the contender's own form, and for each delta, when somebody wants to know */
  onRequest?: (conversation: unknown) => void
  onDelta?: () => void
}

export const makeTally = (): Tally => ({
  requests: 0,
  remembered: 0,
  calls: 0,
  sum: 0,
  running: 0,
  widest: 0,
  deltas: 0,
  characters: 0,
  results: 0,
  hanging: 0
})

/** A request to the model, with what its conversation is, and how many rounds of calls that has. */
export const asked = (script: Script, tally: Tally, conversation: unknown, rounds: number): void => {
  tally.requests++
  tally.remembered += rounds * script.calls
  tally.onRequest?.(conversation)
}

/** The tool's handler is called; `ended` is for when it has its outcome. */
export const began = (tally: Tally, n: number): void => {
  tally.calls++
  tally.sum += n
  tally.widest = Math.max(tally.widest, ++tally.running)
}

export const ended = (tally: Tally): void => {
  tally.running--
}

/** A contender that is ready to run. */
export interface Runner {
  /**
   * One run of a new session, its events read to the end. Resolves when all of it is over, also where `signal` aborted it;
   * it may then reject.
   */
  readonly run: (signal?: AbortSignal) => Promise<void>
  /** What the last run's session takes, in bytes: of its JSON, or as `bytesOf` says of its file or of all sessions' file. */
  readonly bytes?: () => Promise<number>
  readonly bytesOf?: "file" | "file of all"
  /** Opens the last run's session anew and makes its conversation. */
  readonly reopen?: () => Promise<Reopened>
  readonly close?: () => Promise<void>
}

/** How many results a session has that was opened again, and what ends that. */
export interface Reopened {
  readonly results: number
  readonly end?: () => Promise<void>
}

export interface Contender {
  readonly name: string
  /** Makes the writes of a run, and nothing else of it: there is nothing to count. */
  readonly onlyWrites?: true
  /** Sends one of the texts of a conversation that are alike. */
  readonly mergesTexts?: true
  /** Takes what a process does once: connections, files, agents. `tally` is for every run that follows. */
  readonly open: (script: Script, tally: Tally) => Promise<Runner>
}

/** The arguments of the next answer's calls, of which no two in a run are equal: equal ones would be a loop. */
export const numbers = (script: Script, rounds: number): ReadonlyArray<number> =>
  Array.from({ length: script.calls }, (_, i) => {
    const n = rounds * script.calls + i
    return script.isWrong ? `none, ${n}` as unknown as number : n
  })

/** A tool's outcome for its arguments; waits as long as the script says. */
export const double = async (script: Script, tally: Tally, n: number): Promise<{ readonly doubled: number }> => {
  began(tally, n)
  if (script.toolMillis > 0) await new Promise((resolve) => setTimeout(resolve, script.toolMillis))
  ended(tally)
  return { doubled: n * 2 }
}
