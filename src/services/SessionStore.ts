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
import type * as DurableEvent from "../run/DurableEvent.ts"
import type { SessionInfo } from "../run/log/SessionInfo.ts"
import type * as RunError from "../run/RunError.ts"
import type * as RunEvent from "../run/RunEvent.ts"
import type * as RunInput from "../run/RunInput.ts"

export { evolveInfo, newInfo, type SessionInfo } from "../run/log/SessionInfo.ts"

type Retryable = Extract<RunError.RunReason, { _tag: "SessionBusy" | "StoreUnavailable" }>
type Refusal = Extract<
  RunError.RunRefusal,
  { _tag: "InvalidInput" | "SessionNotFound" | "StaleWriter" | "StoreRefused" | "EventTooLarge" }
>

/**
 * `StoreUnavailable`: the store cannot be used now. `StoreRefused`: it cannot be used as it is, because its address, rights or options
 * are wrong, it is damaged or was moved, or a newer version wrote it, or it cannot keep an id; nothing was changed, and the message says
 * what to do. The other reasons are described at the methods that fail with them.
 */
export type StoreError = RunError.RetryableError<Retryable> | RunError.NonRetryableError<Refusal>

/** One event is at most this many bytes of JSON. */
export const maxEventBytes = 16 * 1024 * 1024

/** What others say in an event is at most this many bytes: the event itself, and the events of a message's calls, add to it. */
export const maxContentBytes = maxEventBytes - 64 * 1024

interface FromElsewhere {
  /** what its sender knows it by, within the session */
  readonly id: string
  /** `seq` up to which the sender has read the log */
  readonly after: number
}

/** An input to a run, from a process that does not have its session. In the log, the `InputQueued` that accepts it has this `id`. */
export interface SentInput extends FromElsewhere, Pick<DurableEvent.Of<"InputQueued">, "kind" | "messages"> {
  readonly _tag: "Input"
}

/**
 * An answer to a question of a run, from a process that does not have its session. In the log, the `ApprovalResolved` that records it has
 * this `id`.
 */
export interface SentAnswer extends FromElsewhere {
  readonly _tag: "Answer"
  readonly decision: RunInput.DecideInput
}

/** What one process says to a run of another. JSON. */
export type Sent = SentInput | SentAnswer

/** How a session is opened for writing. */
export interface OpenOptions {
  /** the run that the session is opened for; `SessionBusy` names it to others */
  readonly runId: string
  /** `false`: an unknown session is `SessionNotFound` */
  readonly create: boolean
  /** skip the check that the owner is alive; the fence still protects the log */
  readonly takeOver?: boolean
  /**
   * run when somebody asks that the run be aborted (`askToAbort`) or has asked that of an owner before this one, or when the session
   * is found to be another's, maybe more than once, until the scope closes; not waited for
   */
  readonly onAbortAsked?: Effect.Effect<void> | undefined
  /** run with what others send to the run (`send`), maybe more than once for an `id`, until the scope closes; not waited for */
  readonly onSent?: ((sent: Sent) => Effect.Effect<void>) | undefined
  /**
   * whether this owner comes after what was asked of owners before it: it is not asked that, and once it has written something, nobody
   * is any more
   */
  readonly isAfterAborts?: boolean
}

/** Which sessions are listed: all or `limit`, newest first, or those that follow `after`, the last one of the page before. */
export interface ListOptions {
  readonly limit?: number | undefined
  readonly after?: SessionInfo | undefined
  /** only sessions with one of these ends, `undefined` for no end; a database does not look through the others */
  readonly ends?: ReadonlyArray<SessionInfo["end"]> | undefined
  /** only sessions with one of these parents, `undefined` for none: those that no agent began for a call */
  readonly parents?: ReadonlyArray<SessionInfo["parent"]> | undefined
  /** only sessions whose ids begin with this text, compared character by character */
  readonly prefix?: string | undefined
  /** `true`: only sessions that `open` would not find busy */
  readonly unowned?: boolean | undefined
}

/** What a fork copies, and under which id. */
export interface ForkOptions {
  /** the id of the copy; an id that is in use is `InvalidInput` */
  readonly to: string
  /**
   * `seq` of the last event to copy: a `TurnFinished` or the end of a run; default: the last such event. Any other is
   * `InvalidInput`, which names the nearest ones.
   */
  readonly at?: number | undefined
}

/** The single writer of a session. */
export interface Session {
  readonly sessionId: string
  /**
   * `seq` of the last event in the log, 0 in a new session; events that another writer stored since it took the session
   * over are not included. Everything up to it is taken as stored, also after an append that failed.
   */
  readonly head: () => number
  /**
   * Stores events whose `seq` continue from `head`, each of a run (others are a defect), all or none, durable when it
   * returns. Uninterruptible; appends made at the same time are stored one after the other. Fails, and writes nothing, with
   * `StaleWriter` once another writer has opened the session or the scope has closed, and with `EventTooLarge` above
   * `maxEventBytes`. After `StoreUnavailable` the same events may be appended again, with more after them: what was
   * stored although the answer got lost is not stored twice, and what was not stored does not appear later.
   */
  readonly append: (events: Arr.NonEmptyReadonlyArray<RunEvent.Durable>) => Effect.Effect<void, StoreError>
}

/** Events that a reader can find without reading the log. */
export type Landmark = "RunStarted" | "ContextCompacted"

/**
 * Ids are compared as they are: texts that differ in case, blanks or normal form name different sessions. An id that a
 * database cannot keep, with NUL or half of a surrogate pair, is `StoreRefused`.
 *
 * While a store closes, its open sessions can still be written to, for at most the grace period, so that runs that end
 * with it can store their end.
 */
export class SessionStore extends Context.Service<SessionStore, {
  /**
   * Opens the session for writing until the scope closes. Fails with `SessionBusy` while another owner lives, in this
   * process or another, and with `StoreRefused`, changing nothing, when a newer version wrote the end of the log. A
   * session that is opened and never written to is not created.
   */
  readonly open: (sessionId: string, options: OpenOptions) => Effect.Effect<Session, StoreError, Scope.Scope>
  /**
   * The log from `from` (default 1) to `to` (default: its end now), both included. `SessionNotFound` when unknown;
   * `StoreRefused` in place of an event that a newer version wrote. Events of older versions come as this version would
   * have written them (`EventMigrations`, with the `Migrations` that the store was built with), events of unknown types as they
   * are. The values in an event keep the order of their keys, so that equal logs make equal bytes. Any numbers are accepted:
   * beyond the log there is nothing, and NaN counts as not given; the same in `watch` and `list`.
   */
  readonly read: (
    sessionId: string,
    range?: { readonly from?: number | undefined; readonly to?: number | undefined }
  ) => Stream.Stream<RunEvent.Durable, StoreError>
  /**
   * `seq` of the session's last event of this type, of any run or of `runId`; `undefined` when there is none. Its cost
   * does not grow with the log.
   */
  readonly lastOf: (sessionId: string, type: Landmark, runId?: string) => Effect.Effect<number | undefined, StoreError>
  /**
   * The log from `from`, then what is appended, also by other processes: no gap, no duplicate, never retracted. Waits
   * for a session that does not exist yet; `SessionNotFound` once it is removed.
   */
  readonly watch: (sessionId: string, from?: number) => Stream.Stream<RunEvent.Durable, StoreError>
  /** Sessions, last changed first, without reading logs. */
  readonly list: (options?: ListOptions) => Effect.Effect<ReadonlyArray<SessionInfo>, StoreError>
  /** What `list` shows of this session; `undefined` when unknown. */
  readonly info: (sessionId: string) => Effect.Effect<SessionInfo | undefined, StoreError>
  /**
   * Copies the log up to `at` into a new session, unchanged: with its run ids, times, and events of unknown types. All or
   * nothing, in one step; the two are independent from then on. A session that is being written to can be forked, with what is
   * stored by then. A copy that ends inside a run, with an end by its process or its store, or where it waits for calls that the
   * original is to carry out, gets a `RunAborted` (`forked`) at its end, so that it takes a new message or resumes at once, and does
   * not go on by itself.
   *
   * No call is running at such a place, and idempotency keys contain the session id: what the two do later never shares a key.
   * After a drive that died, calls that had started are `OutcomeUnknown` in the copy, and others `NotExecuted`. After a
   * suspended drive, the same holds for calls that had paused and calls that a person had allowed: they belong to the
   * original. `SessionNotFound` when unknown; `SessionBusy` while another owner has `to` open and has not written to it.
   */
  readonly fork: (sessionId: string, options: ForkOptions) => Effect.Effect<SessionInfo, StoreError>
  /** Deletes the session and its log. `SessionBusy` while it has a live owner, `SessionNotFound` when unknown. */
  readonly remove: (sessionId: string) => Effect.Effect<void, StoreError>
  /**
   * Asks the owner of the session, in whatever process, to abort this run: `onAbortAsked` runs within a second. `false` when no
   * owner that has it open for this run can be asked. Does not tell what comes of it: the log does. The request is about the
   * session and the run, not about the owner, which may die first: until the run has ended, whoever opens the session for it after
   * that and has an `onAbortAsked` is asked too, unless `isAfterAborts`. With a store that lacks it, a run can only be aborted by the
   * process that it lives in.
   */
  readonly askToAbort?: (sessionId: string, runId: string) => Effect.Effect<boolean, StoreError>
  /**
   * Passes what is said to a run on to the owner of the session, in whatever process, if that has it open for this run: its `onSent`
   * runs within a second. `false` when nobody has the session, `SessionBusy` when its owner has it for something else, or cannot be
   * told. Does not tell what comes of it: the log does, and an owner that dies may not have got it. Whoever opens the session after
   * that owner is not told. The same `id` may be sent again. With a store that lacks it, a run is only spoken to in the process that
   * it lives in.
   */
  readonly send?: (sessionId: string, runId: string, sent: Sent) => Effect.Effect<boolean, StoreError>
}>()("fiberloop/services/SessionStore") {}

/** A store, as the service is. */
export type Store = SessionStore["Service"]
