/** The checked settings of a command line. Does not own what exists: folders and files are checked when they are opened. */
import * as Effect from "effect/Effect"
import { join } from "node:path"
import * as PgPlace from "../layers/postgres/PgPlace.ts"
import { badInput, badValue, type Refusal } from "./Refusal.ts"

/** What the flags of `fiberloop run` and the environment say. */
export interface Typed {
  readonly task: string | undefined
  readonly root: string | undefined
  readonly db: string | undefined
  readonly model: string | undefined
  readonly maxTurns: string | undefined
  readonly contextWindow?: string | undefined
  readonly session: string | undefined
  readonly json: boolean
  readonly isPlain: boolean
  readonly yes?: boolean
  readonly asFiberloop?: boolean
}

export interface Settings {
  /** absent: goes on with the session's last run */
  readonly task: string | undefined
  readonly root: string
  /** whether nobody named the root */
  readonly isDefaultRoot: boolean
  /** the folder of the session's last run, where that is not the one named, or not the current one: then `root` is it, too */
  readonly sessionRoot: string | undefined
  /** a file, or the URL of a Postgres, which may hold a password */
  readonly db: string
  /** whether nobody named the database */
  readonly isDefaultDb: boolean
  /** absent: nobody named a model, so the offline one answers */
  readonly model: string | undefined
  /** whether nobody named the model, which is the one the session used before */
  readonly isModelOfSession: boolean
  readonly maxTurns: number | undefined
  /** tokens that the model takes, question and answer; absent: unknown */
  readonly contextWindow: number | undefined
  readonly session: string | undefined
  readonly json: boolean
  /** whether there are no colours, no spinner, no control codes */
  readonly isPlain: boolean
  /** whether changes and commands are allowed without asking */
  readonly allowsAll: boolean
  /** whether sessions of other programs may be continued, too */
  readonly asFiberloop: boolean
  /** the flags that another run needs to find the same session and files; they hold no password */
  readonly flags: ReadonlyArray<string>
}

const defaultDb = join(".fiberloop", "sessions.db")

const missing: Record<string, string> = {
  task: "the task is empty: say what to do, as in fiberloop run \"which three files are the longest?\"",
  session: "--session is empty: give the id that an earlier run printed, or leave it out for a new session",
  root: "--root is empty: name the folder to look at, or leave it out for the session's, or the current one",
  db: `--db is empty: name the file that holds the sessions, or a Postgres URL, or leave it out for ${defaultDb}`,
  model: "--model is empty: name a model, or leave it out"
}

/** The database as it may be printed. */
export const shown = (db: string): string => PgPlace.isUrl(db) ? PgPlace.shown(db) : db

/** Whether it is a URL, but not of Postgres; SQLite takes `file:` as a URL, too. */
const isOtherUrl = (db: string): boolean => !PgPlace.isUrl(db) && (db.includes("://") || /^file:/i.test(db))

/** What is wrong with such a URL, shown without its password. */
const noUrl = (db: string): string => {
  const scheme = /^(?:file:|[\w+.-]+:\/\/)/i.exec(db)?.[0]
  const wrong = scheme === undefined ? " and has nothing in front of it" : `, not with ${scheme}`
  return `--db takes a file, or a URL that begins with postgres://${wrong}`
}

/** What is wrong with a provider's name that ends with its slash. */
const noModel = (typed: string): string =>
  `--model (FIBERLOOP_MODEL) ${typed} ends before the name of a model: give it after the slash, as in anthropic/claude-sonnet-4-5`

const inMemory =
  "--db :memory: would keep sessions only until this command ends, and no other could go on with them: name a file"

const most = 999_999_999

/** The number that was given for a flag, if one was. */
export const whole = Effect.fnUntraced(function*(
  flag: string,
  typed: string | undefined
): Effect.fn.Return<number | undefined, Refusal> {
  if (typed === undefined) return undefined
  if (!/^0*[1-9]\d*$/.test(typed)) {
    return yield* badValue(`${flag} takes a whole number of at least 1, not ${JSON.stringify(typed)}`)
  }
  if (Number(typed) > most) return yield* badValue(`${flag} takes at most ${most}, not ${typed}`)
  return Number(typed)
})

export const check = Effect.fnUntraced(function*(typed: Typed): Effect.fn.Return<Settings, Refusal> {
  for (const key of ["task", "session", "root", "db", "model"] as const) {
    // a task may come from standard input
    if (typed[key]?.trim() === "") return yield* (key === "task" ? badInput : badValue)(missing[key]!)
  }
  if (typed.db !== undefined && isOtherUrl(typed.db)) return yield* badValue(noUrl(typed.db))
  if (typed.db === ":memory:") return yield* badValue(inMemory)
  const { asFiberloop = false, db, json, isPlain, maxTurns, root, session, task, yes = false } = typed
  // no model's name begins or ends with a blank, and a setting of the environment is taken without them, too
  const model = typed.model?.trim()
  if (model !== undefined && /^[a-z]+\/$/i.test(model)) return yield* badValue(noModel(model))
  const contextWindow = yield* whole("--context-window (FIBERLOOP_CONTEXT_WINDOW)", typed.contextWindow)
  return {
    task,
    root: root ?? ".",
    isDefaultRoot: root === undefined,
    sessionRoot: undefined,
    db: db ?? defaultDb,
    isDefaultDb: db === undefined,
    model,
    isModelOfSession: false,
    maxTurns: yield* whole("--max-turns", maxTurns),
    contextWindow,
    session,
    json,
    isPlain,
    allowsAll: yes,
    asFiberloop,
    flags: [
      ...(root === undefined ? [] : ["--root", root]),
      ...(db === undefined ? [] : ["--db", shown(db)]),
      ...(model === undefined ? [] : ["--model", model]),
      ...(contextWindow === undefined ? [] : ["--context-window", `${contextWindow}`])
    ]
  }
})
