/** What `--help` says besides the flags. */
import * as Grammar from "./offline/Grammar.ts"

/** Lines by title. */
type Sections = Readonly<Record<string, ReadonlyArray<string>>>

const examplesOf = ([kind, ...examples]: (typeof Grammar.examples)[number]): ReadonlyArray<string> =>
  examples.map((example, index) => `  ${(index === 0 ? kind : "").padEnd(15)}${example}`)

/** For a run. */
const run: Sections = {
  "OUTPUT": [
    "  On a terminal, standard output gets the model's text as it arrives; a file or a pipe gets only the answer.",
    "  Standard error gets everything else: tool calls, notices, how the run ended. Colours and the spinner are for",
    "  terminals only; --no-color, NO_COLOR and TERM=dumb turn them off there too."
  ],
  "CHANGES": [
    "  A named model may also write files below the folder and run commands in it. You see each of these in full, as a diff",
    "  or word for word, and are asked first: yes, no (with a reason for the model) or, for a command, always this exact",
    "  one until fiberloop ends. --yes allows all. Without a terminal the answer is no; only a run that waited for answers",
    "  leaves questions open when it is resumed. An AGENTS.md in the folder adds to what the model is told."
  ],
  "OFFLINE MODEL": [
    "  Answers when no model is named and the session has none of its own. It needs no network and only looks at the files.",
    "  It understands:",
    ...Grammar.examples.flatMap(examplesOf),
    "  Longest and shortest go by lines, largest and smallest by bytes. Quote texts and names that contain spaces.",
    "  .git, node_modules and .fiberloop are left out."
  ],
  "ENVIRONMENT": [
    "  FIBERLOOP_MODEL  the model when --model is not given (\"offline\" is the built-in one)",
    "  FIBERLOOP_CONTEXT_WINDOW",
    "                   the model's context window in tokens, when --context-window is not given",
    "  OPENAI_API_KEY   the key of the OpenAI-compatible API",
    "  OPENAI_BASE_URL  its address, default https://api.openai.com/v1 (Ollama: http://localhost:11434/v1)",
    "  ANTHROPIC_API_KEY, GOOGLE_GENERATIVE_AI_API_KEY",
    "                   the keys for --model anthropic/... and google/..., which need the package @ai-sdk/anthropic or",
    "                   @ai-sdk/google; ANTHROPIC_BASE_URL and GOOGLE_GENERATIVE_AI_BASE_URL set other addresses",
    "  PGPASSWORD       the password for --db postgres://user@host/database, safer than in the URL",
    "  NO_COLOR         no colours, no spinner"
  ],
  "EXIT CODES": [
    "  0  completed                     2    wrong usage: unknown flag, missing argument, bad value",
    "  1  failed, limited, bad input    130  aborted (129 by SIGHUP, 143 by SIGTERM, 141 when the output pipe was closed)"
  ]
}

/** For a run that a person leaves alone. */
const background: Sections = {
  "IN THE BACKGROUND": [
    "  setsid -f fiberloop run --yes \"<task>\" > answer.txt 2> run.log < /dev/null",
    "  goes on when the terminal closes, which aborts a run after nohup. show, steer and abort look after it."
  ]
}

/** For a command that looks at kept sessions. */
const kept: Sections = {
  "OUTPUT": [
    "  Standard output gets what was asked for, standard error everything else. Colours are for terminals only;",
    "  --no-color, NO_COLOR and TERM=dumb turn them off there too. Only import creates a database.",
    "  PGPASSWORD is the password for --db postgres://user@host/database, safer than in the URL."
  ],
  "EXIT CODES": [
    "  0  done                          2    wrong usage: unknown flag, missing argument, bad value",
    "  1  no such session, bad input    130  stopped (129 by SIGHUP, 143 by SIGTERM, 141 when the output pipe was closed)"
  ]
}

/** What the numbers mean. */
const stats: Sections = {
  "NUMBERS": [
    "  success     the share of completed runs among those that completed, were limited, failed or were aborted",
    "  turns       settled model calls; retries are attempts that were made again",
    "  model, tool the call that counted, and calls whose handler ran to an end; percentiles to three digits",
    "  cost        the tokens at the application's prices when they were spent",
    "  A run is counted once, with all its drives. So is one that several sessions have, after fork or import, as the first",
    "  of them has it; where a copy resumes it, that is one run more, with what it did from there on. With --session every",
    "  run of the session counts."
  ],
  "JSON": [
    "  One object. Times are in milliseconds; null is a number that is not known. Amounts have total, mean, p95 and max,",
    "  times have count, p50, p95 and max.",
    "  sessions, runs, drives           how many; agents: runs by agent",
    "  ends, reasons, successRate       runs by how and why they ended; the share of completed ones, 0 to 1",
    "  turns, retries, compactions      of a run; retries.lostTime, compactions.perHundredTurns",
    "  latency                          model, firstPart, tools, approvals, runs; tools: the same by tool. firstPart is",
    "                                   missing for a turn that another drive began, for example before people were asked",
    "  approvals                        asked, approved, answered, denied",
    "  errors                           attempts, tools and runs, by kind",
    "  promptTokens, events             input tokens of a model call, stored events of a session",
    "  tokens, cost, unpriced, models   what was spent, model calls without a known cost, the same by model"
  ]
}

/** What a timeline is. */
const show: Sections = {
  "TIMELINE": [
    "  --timeline has a row for each model call, attempt, wait and tool call, in the order in which they began; what runs at",
    "  once overlaps. An axis covers a drive, or 20 turns of one, and its times count from the drive's start. After",
    "  the first 20 tool calls of a turn, the others share a row, unless --full is given. With --json every line is one of",
    "    DriveStarted  run, drive, at, cause            DriveEnded  run, drive, at, end (its event, or null)",
    "    Span          kind, name, turn, from, to (null: cut off), outcome; firstPart, usage, callId, cause where known",
    "  with times in milliseconds since the epoch."
  ]
}

/** For a command that shortens a conversation. */
const compact: Sections = {
  "WHAT IS LEFT OUT": [
    "  Old tool output first, with a note in its place. When there is none left, the model summarises the older part; the",
    "  newest messages and your last one stay word for word. The offline model cannot summarise: the oldest messages go.",
    "  A run does the same by itself when its conversation exceeds --context-window, or the provider says that it is too",
    "  long. While a session has a live run it cannot be shortened. fiberloop show marks what was done, and still shows all."
  ],
  ...kept,
  "ENVIRONMENT": run["ENVIRONMENT"]!
}

/** For the command as a whole. */
const whole: Sections = {
  "COMPLETIONS": [
    "  bash  source <(fiberloop --completions bash)",
    "  zsh   source <(fiberloop --completions zsh)",
    "  fish  fiberloop --completions fish > ~/.config/fish/completions/fiberloop.fish"
  ]
}

/** For a conversation, shown before what a run says. */
const chat: Sections = {
  "KEYS": [
    "  Enter          sends the message; after a backslash, and within pasted text, it starts a new line",
    "  Up, Down       earlier messages",
    "  Ctrl-C         aborts the current answer; at the prompt it clears the line, and pressed again leaves",
    "  Ctrl-D, /quit  leaves; /exit is the same",
    "  /compact       makes the context smaller, as fiberloop compact does",
    "  /help          shows this",
    "  The commands and the backslash work in piped input too. No other single word that begins with a slash is sent."
  ]
}

/** The keys and words of a chat, for a person in one; each line ended. */
export const keys: string = chat["KEYS"]!.map((line) => `${line}\n`).join("")

/** What a command says besides its flags, where that differs from a run. */
const byCommand: Record<string, Sections> = {
  run: { ...run, ...background },
  chat: { ...chat, ...run },
  compact,
  sessions: kept,
  show: { ...show, ...kept },
  stats: { ...stats, ...kept },
  fork: kept,
  export: kept,
  import: kept,
  remove: kept,
  approvals: kept,
  approve: kept,
  deny: kept,
  steer: kept,
  abort: kept
}

/** Sections to put below the flags of a command (`["fiberloop", "run"]`); titles through `bold`. */
export const more = ([, command]: ReadonlyArray<string>, bold: (text: string) => string): string => {
  const shown = command === undefined ? { ...run, ...whole } : byCommand[command] ?? run
  return Object.entries(shown).map(([title, lines]) => `\n${bold(title)}\n${lines.join("\n")}\n`).join("")
}
