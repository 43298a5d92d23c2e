/** What a contender is to the harness, and the work that all of them do. Does not own how it is measured. */

/** One piece of a call's text. */
export const delta = "abcd"

/** What the scripted model and the tool do in every run. */
export interface Script {
  /** answers with tool calls before the last answer, which has none */
  readonly turns: number
  /** tool calls in each of those answers */
  readonly calls: number
  /** pieces of text in each answer, including the last */
  readonly deltas: number
  /** how many of them come at once */
  readonly chunk: number
  /** what the source waits for before each chunk: a microtask, which lets the reader run, or a turn of the event loop */
  readonly between: "microtask" | "turn"
  /** milliseconds that each model call takes before its first piece */
  readonly latency: number
  /** milliseconds that the tool takes; 0 returns at once, without a timer */
  readonly toolMillis: number
  /** calls of one answer that may run at once */
  readonly parallel: number
  /** whether the source stops after its deltas without an end, and whether it then honours its signal */
  readonly hang: "no" | "honours" | "ignores"
  /** whether the arguments of calls are not numbers: a tool that validates then runs no handler */
  readonly isWrong?: boolean
}

/** What was done, counted where it happens: in the source, in the tool, and where the application reads events. */
export interface Tally {
  /** requests to the model */
  requests: number
  /** the tool's results in the conversations of all requests, which shows that none was left out */
  remembered: number
  /** calls of the tool's handler, the sum of their arguments, and the most that ran at once */
  calls: number
  sum: number
  running: number
  widest: number
  /** deltas and their characters, in the application's events */
  deltas: number
  characters: number
  /** outcomes of calls, in the application's events */
  results: number
  /** sources that hang now: what an abort left behind */
  hanging: number
  /** if set, called for each request with its conversation, in the contender's own form, and for each delta */
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

/** A request to the model: `conversation` is what it says, `rounds` how many rounds of calls that has. */
export const asked = (script: Script, tally: Tally, conversation: unknown, rounds: number): void => {
  tally.requests++
  tally.remembered += rounds * script.calls
  tally.onRequest?.(conversation)
}

/** Notes that the tool's handler is called; call `ended` when it has its outcome. */
export const began = (tally: Tally, n: number): void => {
  tally.calls++
  tally.sum += n
  tally.widest = Math.max(tally.widest, ++tally.running)
}

export const ended = (tally: Tally): void => {
  tally.running--
}

/** Notes a piece of text in the application's events. */
export const heard = (tally: Tally, text: string): void => {
  tally.deltas++
  tally.characters += text.length
  tally.onDelta?.()
}

/** A contender that is ready to run. */
export interface Runner {
  /**
   * One run of a new session, with its events read to the end. Resolves when everything is over, also after `signal` aborted
   * it; it may reject then.
   */
  readonly run: (signal?: AbortSignal) => Promise<void>
  /** What the last run's session takes, in bytes: its JSON, or, by `bytesOf`, its file or the file of all sessions. */
  readonly bytes?: () => Promise<number>
  readonly bytesOf?: "file" | "file of all"
  /** Opens the last run's session anew and builds its conversation. */
  readonly reopen?: () => Promise<Reopened>
  readonly close?: () => Promise<void>
}

/** How many results a reopened session has, and how to end it. */
export interface Reopened {
  readonly results: number
  readonly end?: () => Promise<void>
}

export interface Contender {
  readonly name: string
  /** Makes only the writes of a run, so there is nothing to count. */
  readonly onlyWrites?: true
  /** Sends only one of several equal texts in a conversation. */
  readonly mergesTexts?: true
  /** Acquires what a process sets up once: connections, files, agents. `tally` is for all runs that follow. */
  readonly open: (script: Script, tally: Tally) => Promise<Runner>
}

/** The arguments of the next answer's calls; no two in a run are equal, since equal ones would be a loop. */
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
