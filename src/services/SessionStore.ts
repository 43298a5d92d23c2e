/**
 * The contract of a store of sessions: append-only logs of durable events, each with one writer.
 *
 * Does not own what events mean, nor what `list` shows of a session (`run/log/SessionInfo`).
 */
import type * as Arr from "effect/Array"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import type { SessionInfo } from "../run/log/SessionInfo.ts"
import type * as RunError from "../run/RunError.ts"
import type * as RunEvent from "../run/RunEvent.ts"

export { evolveInfo, newInfo, type SessionInfo } from "../run/log/SessionInfo.ts"

type Retryable = Extract<RunError.RunReason, { _tag: "SessionBusy" | "StoreUnavailable" }>
type Refusal = Extract<
  RunError.RunRefusal,
  { _tag: "InvalidInput" | "SessionNotFound" | "StaleWriter" | "StoreRefused" | "EventTooLarge" }
>

/**
 * `StoreUnavailable`: the database cannot be used now. `StoreRefused`: it, or an id, is not what this version can keep
 * or read, and nothing was changed. The others stand where they come from.
 */
export type StoreError = RunError.RetryableError<Retryable> | RunError.NonRetryableError<Refusal>

/** One event is at most this many bytes of JSON. */
export const maxEventBytes = 16 * 1024 * 1024

/** What others say in an event is at most this many: the event, and those of a message's calls, hold more than that. */
export const maxContentBytes = maxEventBytes - 64 * 1024

/** How a session is taken for writing. */
export interface OpenOptions {
  /** the run that the session is opened for; named to whoever finds the session busy */
  readonly runId: string
  /** `false`: an unknown session is `SessionNotFound` */
  readonly create: boolean
  /** skip the check that the owner is alive; the fence still protects the log */
  readonly takeOver?: boolean
  /** run until the scope closes, maybe more than once, where somebody asks that the run be aborted (`askToAbort`); not waited for */
  readonly onAbortAsked?: Effect.Effect<void> | undefined
}

/** Which sessions are listed: all or `limit`, from the newest, or those that follow `after`, the last one of the page before. */
export interface ListOptions {
  readonly limit?: number | undefined
  readonly after?: SessionInfo | undefined
  /** only sessions with one of these ends, of which `undefined` is none; in a database the others are not looked through */
  readonly ends?: ReadonlyArray<SessionInfo["end"]> | undefined
  /** `true`: only sessions that `open` would not find busy */
  readonly unowned?: boolean | undefined
}

/** What a fork copies, and under which id. */
export interface ForkOptions {
  /** the id of the copy; one that is in use is `InvalidInput` */
  readonly to: string
  /**
   * `seq` of the last event to copy: a `TurnFinished` or the end of a run, by default the last such event. Any other is
   * `InvalidInput`, which names the nearest ones.
   */
  readonly at?: number | undefined
}

/** The single writer of a session. */
export interface Session {
  readonly sessionId: string
  /**
   * `seq` of the last event in the log, 0 in a new session; none of those that another writer stored since it took the
   * session over. What is not above it is taken for stored, also after an append that failed.
   */
  readonly head: () => number
  /**
   * Stores events whose `seq` go on from `head` (others are a defect), all or none, durable when it returns.
   * Uninterruptible; appends that are made at once are stored one after the other. Fails with `StaleWriter` once
   * another writer has opened the session or the scope has closed, with `EventTooLarge` above `maxEventBytes`, and
   * writes nothing then. After `StoreUnavailable` the same events may be appended again, with more after them: what
   * was stored although the answer got lost is not stored twice, and nothing that was not is stored later.
   */
  readonly append: (events: Arr.NonEmptyReadonlyArray<RunEvent.Durable>) => Effect.Effect<void, StoreError>
}

/** Events that a reader looks for without reading the log. */
export type Landmark = "RunStarted" | "ContextCompacted"

/**
 * Ids are compared as they are: texts that differ in case, blanks or normal form name different sessions. One that a
 * database cannot keep, with NUL or half of a surrogate pair, is `StoreRefused`.
 *
 * While a store closes, its open sessions can still be written to, at most for the grace period: runs that end with it
 * have an end to store.
 */
export class SessionStore extends Context.Service<SessionStore, {
  /**
   * Takes the session for writing until the scope closes. Fails with `SessionBusy` while another owner lives, here or
   * in another process, and with `StoreRefused`, leaving it as it is, where a newer version wrote the end of the log. A
   * session that is only opened and never written to does not come into being.
   */
  readonly open: (sessionId: string, options: OpenOptions) => Effect.Effect<Session, StoreError, Scope.Scope>
  /**
   * The log from `from` (default 1) to `to` (default: its end now), both included. `SessionNotFound` when unknown;
   * `StoreRefused` in place of an event that a newer version wrote. Events of older versions come as this one would
   * have written them (`EventMigrations`); types that are not known come as they are. What an event holds keeps its keys
   * in their order: equal logs are to make equal bytes. Any numbers are taken: beyond the log there is nothing, and NaN is
   * as if it were not given; so in `watch` and `list`.
   */
  readonly read: (
    sessionId: string,
    range?: { readonly from?: number; readonly to?: number }
  ) => Stream.Stream<RunEvent.Durable, StoreError>
  /**
   * `seq` of the session's last event of this type, of any run or of `runId`; `undefined` where there is none. What it
   * costs does not grow with the log.
   */
  readonly lastOf: (sessionId: string, type: Landmark, runId?: string) => Effect.Effect<number | undefined, StoreError>
  /**
   * The log from `from`, then what is appended, also by other processes: no gap, no double, never retracted. Waits for
   * a session that is not there yet; `SessionNotFound` once it is removed.
   */
  readonly watch: (sessionId: string, from?: number) => Stream.Stream<RunEvent.Durable, StoreError>
  /** Sessions, last changed first, without reading logs. */
  readonly list: (options?: ListOptions) => Effect.Effect<ReadonlyArray<SessionInfo>, StoreError>
  /** What `list` shows of this session; `undefined` when unknown. */
  readonly info: (sessionId: string) => Effect.Effect<SessionInfo | undefined, StoreError>
  /**
   * Copies the log up to `at` into a new session, as it is: with its run ids, times, and events of types that are not
   * known. All or nothing, in one step; the two are independent then. A session that somebody writes to can be forked,
   * with what is stored by now. A copy that ends inside a run, or with its process, gets a `RunAborted` (`forked`) at its end,
   * so that it takes a new message, or resumes, at once, and does not go on by itself.
   *
   * No call runs at such a place, and idempotency keys contain the session id: what the two do later never shares a
   * key. After a drive that died, calls that had started are `OutcomeUnknown` in the copy and others `NotExecuted`;
   * after one that is suspended so are those that had paused, and those that a person had allowed: they are the
   * original's. `SessionNotFound` when unknown; `SessionBusy` while another has `to` open and has not written to it.
   */
  readonly fork: (sessionId: string, options: ForkOptions) => Effect.Effect<SessionInfo, StoreError>
  /** Deletes the session and its log. `SessionBusy` while it has a live owner, `SessionNotFound` when unknown. */
  readonly remove: (sessionId: string) => Effect.Effect<void, StoreError>
  /**
   * Asks whoever has the session open for this run, in whatever process, to abort it: `onAbortAsked` is run within a second.
   * `false` where nobody has it for this run who can be asked. Says nothing of what comes of it: the log does. Of a store without
   * it, runs are aborted by the process that they live in.
   */
  readonly askToAbort?: (sessionId: string, runId: string) => Effect.Effect<boolean, StoreError>
}>()("fiberloop/services/SessionStore") {}
