/**
 * Where the sessions of a store stand, for code that has no agent: an inbox of questions, a page for operators, a
 * command.
 *
 * Does not own what changes a session: an agent does (`Agent`), and its store copies and removes it.
 */
import type * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Fold from "./loop/log/Fold.ts"
import * as Listing from "./loop/log/Listing.ts"
import * as Outermost from "./loop/log/Outermost.ts"
import * as Questions from "./loop/log/Questions.ts"
import type * as RunResult from "./run/RunResult.ts"
import type * as RunState from "./run/RunState.ts"
import type * as Transcript from "./run/Transcript.ts"
import * as SessionStore from "./services/SessionStore.ts"

/** Which sessions are listed. */
export type ListOptions = Omit<SessionStore.ListOptions, "limit">

/** All sessions, the last changed first, listed as the stream is read. One that changes meanwhile may be missed. */
export const list = (
  options: ListOptions = {}
): Stream.Stream<SessionStore.SessionInfo, SessionStore.StoreError, SessionStore.SessionStore> =>
  Stream.unwrap(SessionStore.SessionStore.useSync((store) => Listing.all(store, options)))

/** A session as of its last event. */
export interface Current {
  /** of its last run */
  readonly state: RunState.RunState
  /** of all its runs, from the last compaction on: what a model would be sent */
  readonly transcript: Transcript.Transcript
}

/** Reads from the last compaction on. `SessionNotFound` when unknown. */
export const current = (
  sessionId: string
): Effect.Effect<Current, SessionStore.StoreError, SessionStore.SessionStore> =>
  SessionStore.SessionStore.use((store) => Fold.fold(store, sessionId, Fold.nothing))

/**
 * The open questions of a session, and those of the runs that its calls wait for, in call order, without expired ones: what
 * `approvals` of its agent returns. `SessionNotFound` when unknown.
 */
export const approvals = (
  sessionId: string
): Effect.Effect<ReadonlyArray<RunResult.Approval>, SessionStore.StoreError, SessionStore.SessionStore> =>
  SessionStore.SessionStore.use((store) => Questions.waiting(store, sessionId))

/**
 * The session to resume once people have answered in this one: if its last run works for an open call of another session's last run,
 * that session, and so on. `SessionNotFound` when unknown.
 */
export const outermost = (
  sessionId: string
): Effect.Effect<string, SessionStore.StoreError, SessionStore.SessionStore> =>
  SessionStore.SessionStore.use((store) => Outermost.of(store, sessionId))

/** A session with the questions asked in it, in call order. */
export interface Asking {
  readonly session: SessionStore.SessionInfo
  readonly approvals: Arr.NonEmptyReadonlyArray<RunResult.Approval>
}

/**
 * All open questions of suspended runs, each once, by session, the last changed first. Only suspended sessions are read, as the stream is
 * read; one that cannot be read is skipped.
 */
export const asking: Stream.Stream<Asking, SessionStore.StoreError, SessionStore.SessionStore> = Stream.unwrap(
  SessionStore.SessionStore.useSync((store) =>
    Listing.all(store, { ends: ["RunSuspended"] }).pipe(
      Stream.mapEffect((info) => askingIn(store, info)),
      Stream.filter((found) => found !== undefined)
    )
  )
)

const askingIn = (
  store: SessionStore.SessionStore["Service"],
  session: SessionStore.SessionInfo
): Effect.Effect<Asking | undefined, SessionStore.StoreError> =>
  Questions.waiting(store, session.sessionId).pipe(
    Effect.map((all) => {
      // questions of runs below it are listed with their own session
      const [first, ...others] = all.filter(({ sessionId }) => sessionId === session.sessionId)
      return first === undefined ? undefined : { session, approvals: [first, ...others] as const }
    }),
    // removed meanwhile, or written by a newer version
    Effect.catchReasons("NonRetryableError", {
      SessionNotFound: () => Effect.succeed(undefined),
      StoreRefused: () => Effect.succeed(undefined)
    })
  )
