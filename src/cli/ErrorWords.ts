/** What each error means to the user of the command: one line that names the thing and what to do. Pure. */
import type * as RunError from "../run/RunError.ts"
import { badInput, type Refusal } from "./Refusal.ts"
import * as Invocation from "./render/Invocation.ts"
import * as TerminalText from "./render/TerminalText.ts"
import { duration } from "./render/Time.ts"

type Reason = RunError.RunReason | RunError.RunRefusal | RunError.ProviderReason
type Words = {
  readonly [Tag in Reason["_tag"]]: (
    reason: Extract<Reason, { readonly _tag: Tag }>,
    flags: ReadonlyArray<string>
  ) => string
}

const asSaid = ({ message }: { readonly message: string }): string => message

/** The command's words for what the library calls by the name of a field. */
const typed: Record<string, string> = {
  sessionId: "--session",
  input: "task",
  params: "--params",
  result: "--result",
  "limits.maxTurns": "--max-turns"
}

/** The advice that an adapter adds to a message; removed where the command has better advice. */
const advice = / \((check|shorten|change|try again) [^()]*\)$/

const unadvised = (message: string): string => message.replace(advice, "")

/** When to try again, unless the message says what to do. */
const later = ({ message, retryAfter }: RunError.ProviderReason): string =>
  /; (check|try again) /.test(message)
    ? ""
    : retryAfter === undefined || retryAfter <= 0
    ? ", try again later"
    : `, try again in ${duration(retryAfter)}`

const words: Words = {
  RateLimited: asSaid,
  Overloaded: asSaid,
  Network: asSaid,
  TimedOut: asSaid,
  StreamTruncated: asSaid,
  InvalidResponse: asSaid,
  EmptyResponse: asSaid,
  Authentication: ({ message }) =>
    advice.test(message) ? message.replace(" or the option apiKey", "") : `${message}; check OPENAI_API_KEY`,
  InvalidRequest: asSaid,
  QuotaExhausted: ({ message }) => `${unadvised(message)}; check the plan and billing of the provider`,
  ContextOverflow: ({ message }) =>
    `${unadvised(message)}; ask for less, or start a new session by leaving --session out`,
  ContentPolicy: ({ message }) => `${unadvised(message)}; word the task another way`,
  Unknown: asSaid,
  RetriesExhausted: ({ attempts, last }) =>
    `${unadvised(last.message)}; given up after ${attempts === 1 ? "one attempt" : `${attempts} attempts`}${
      later(last)
    }`,
  SessionBusy: ({ runId, sessionId }) =>
    `session ${JSON.stringify(sessionId)} is busy with ${
      runId === undefined ? "another run" : `the run ${TerminalText.line(runId)}`
    }: wait for its end, end it with fiberloop abort, or leave --session out for a new one`,
  StoreUnavailable: asSaid,
  ShuttingDown: asSaid,
  InvalidInput: ({ field, message }) => message.replaceAll(field, typed[field] ?? field),
  SessionNotFound: ({ sessionId }) =>
    `there is no session ${
      JSON.stringify(sessionId)
    } in this database: check the id and --db, or leave --session out for a new one`,
  RunConflict: asSaid,
  ApprovalNotOpen: asSaid,
  NothingToResume: ({ sessionId }, flags) =>
    `session ${JSON.stringify(sessionId)} has no unfinished run to continue: give it a new task, as in ` +
    `${Invocation.of("run", ["--session", sessionId], flags)} "<task>"`,
  AbortedBeforeStart: () => "the run was aborted before it began",
  StaleWriter: ({ sessionId }) =>
    `another process took over session ${
      JSON.stringify(sessionId)
    }, so this one stopped: find that process, then continue with --session`,
  StoreRefused: asSaid,
  EventTooLarge: asSaid,
  CompactionFailed: ({ message }) => `${message}; ask for less, or start a new session by leaving --session out`,
  ToolFailed: asSaid,
  HookBlocked: asSaid,
  InvalidOutput: asSaid
}

/** What a reason means, as a sentence; `flags` go into commands that it advises. */
export const ofReason = (reason: Reason, flags: ReadonlyArray<string> = []): string =>
  (words[reason._tag] as (reason: Reason, flags: ReadonlyArray<string>) => string)(reason, flags)

/** What happened to an attempt that will be repeated: without the advice to do that, and what follows if it does not help. */
export const ofAttempt = ({ message }: RunError.ProviderReason): string =>
  unadvised(message).replace(/; try again( later)?(;.*)?$/, "")

/** What ended a run before it could say so itself, in words alone; `flags` go into commands that they advise. */
export const ofRun = (error: RunError.RunError, flags: ReadonlyArray<string> = []): string =>
  ofReason(error.reason, flags)

/** `ofRun` in a conversation in this session, which is unknown only once somebody has deleted it. */
export const inChat = (error: RunError.RunError, sessionId: string, flags: ReadonlyArray<string>): string =>
  error.reason._tag === "SessionNotFound" && error.reason.sessionId === sessionId
    ? `session ${JSON.stringify(sessionId)} was deleted meanwhile: leave with Ctrl-D, and begin another with ${
      Invocation.of("chat", [], flags)
    }`
    : ofRun(error, flags)

/** What ended a run before it could say so itself, when the command ends with it. */
export const refusal = (error: RunError.RunError): Refusal => badInput(ofRun(error))

/** `refusal`, where another process that has the session in use is asked; `answer` says in what that failed, and what to do. */
export const refusalFrom = (sessionId: string, answer: string) => (error: RunError.RunError): Refusal =>
  error.reason._tag === "SessionBusy"
    ? badInput(`session ${JSON.stringify(sessionId)} is in use by another process${answer}`)
    : refusal(error)

/** `fiberloop: ...`, on one line and safe to show. */
export const line = (sentence: string): string =>
  `fiberloop: ${TerminalText.sentence(sentence).replace(/^[A-Z](?=[a-z ])/, (first) => first.toLowerCase())}`

/** A bug of ours. */
export const ofDefect = (defect: unknown): string =>
  `this is a bug in fiberloop: ${defect instanceof Error ? defect.message : String(defect)}; please report it`
