/**
 * Where the sessions of a store stand, and what needs no agent: an inbox of questions and the answers to them, a page for
 * operators, a command.
 *
 * Does not own what goes on with a session: an agent does (`Agent`), and its store copies it.
 */
import type * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import * as Agent from "./Agent.ts"
import type { Client, MessageOptions } from "./Client.ts"
import * as Fiberloop from "./Fiberloop.ts"
import * as Fold from "./loop/log/Fold.ts"
import * as Listing from "./loop/log/Listing.ts"
import * as Outermost from "./loop/log/Outermost.ts"
import * as Questions from "./loop/log/Questions.ts"
import * as Removal from "./loop/log/Removal.ts"
import type * as Delivery from "./run/Delivery.ts"
import * as InputCheck from "./run/InputCheck.ts"
import * as RunError from "./run/RunError.ts"
import type * as RunInput from "./run/RunInput.ts"
import type * as RunResult from "./run/RunResult.ts"
import type * as RunState from "./run/RunState.ts"
import type * as Transcript from "./run/Transcript.ts"
import * as Model from "./services/Model.ts"
import * as SessionStore from "./services/SessionStore.ts"

/** Which sessions are listed. */
export type ListOptions = Omit<SessionStore.ListOptions, "limit">

/**
 * All sessions, the last changed first, listed as the stream is read. One that changes meanwhile may be missed. `InvalidInput` for an
 * option that there is not.
 */
export const list = (
  options: ListOptions = {}
): Stream.Stream<SessionStore.SessionInfo, SessionStore.StoreError, SessionStore.SessionStore> =>
  found(options, (store) => Listing.all(store, options))

/** What is found in the store of those that `options` names. */
const found = <A>(
  options: ListOptions,
  find: (store: SessionStore.Store) => Stream.Stream<A, SessionStore.StoreError>
): Stream.Stream<A, SessionStore.StoreError, SessionStore.SessionStore> =>
  Stream.unwrap(Effect.flatMap(
    Effect.fromResult(InputCheck.listed(options)),
    () => SessionStore.SessionStore.useSync(find)
  ))

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

/**
 * Deletes a session with all that it holds, and the sessions that agents began for its calls, for their calls, and so on; returns
 * the ids of what it deleted. Where one of these is in use it stays, and so do those between it and the session; the others go, and
 * it fails with `SessionBusy`, which names it: call it again, also after any other failure. Nothing is deleted while the session
 * itself is in use. `SessionNotFound` when there is neither.
 */
export const remove = (
  sessionId: string
): Effect.Effect<ReadonlyArray<string>, SessionStore.StoreError, SessionStore.SessionStore> =>
  SessionStore.SessionStore.use((store) => Removal.remove(store, sessionId))

/** A session with the questions asked in it, or also below its calls (`askingIn`), in call order. */
export interface Asking {
  readonly session: SessionStore.SessionInfo
  /** each names the session in which it is decided */
  readonly approvals: Arr.NonEmptyReadonlyArray<RunResult.Approval>
}

/**
 * The open questions of the sessions that `options` names, each once, by session, the last changed first. `ends` are `RunSuspended` and
 * `undefined` by default: runs that wait for people, runs under way, which an approver of their process may be asking, and what a process
 * left when it died. These sessions are read as the stream is read, also those that ask nothing; one that cannot be read is skipped. One
 * that changes meanwhile may be missed, and what it asked may have been answered. `InvalidInput` as for `list`.
 *
 * A question of a run that works for a call is listed with its own session. A `prefix` or `parents` leaves such sessions out, as a rule:
 * with one of these, the questions of the runs that a session's calls wait for are listed with that session. A call waits once the run
 * below it is suspended, and not yet while an approver is asked there, nor where the process died in that moment.
 */
export const askingIn = (
  options: ListOptions = {}
): Stream.Stream<Asking, SessionStore.StoreError, SessionStore.SessionStore> =>
  found(options, (store) => {
    const choose = options.prefix === undefined && options.parents === undefined ? own : unlisted()
    return Listing.all(store, { ...options, ends: options.ends ?? ["RunSuspended", undefined] }).pipe(
      Stream.mapEffect((info) => askingOf(store, info, choose)),
      Stream.filter((found) => found !== undefined)
    )
  })

/** The open questions of suspended runs: `askingIn({ ends: ["RunSuspended"] })`. */
export const asking: Stream.Stream<Asking, SessionStore.StoreError, SessionStore.SessionStore> = askingIn({
  ends: ["RunSuspended"]
})

/** Which of the questions of a session, and of the runs below it, are listed with it. */
type Choice = (all: ReadonlyArray<RunResult.Approval>, sessionId: string) => ReadonlyArray<RunResult.Approval>

const own: Choice = (all, sessionId) => all.filter((question) => question.sessionId === sessionId)

/** Those that are not listed yet: a session may be named whose questions one around it has. */
const unlisted = (): Choice => {
  const listed = new Set<string>()
  return (all) => {
    const others = all.filter(({ sessionId }) => !listed.has(sessionId))
    for (const { sessionId } of others) listed.add(sessionId)
    return others
  }
}

const askingOf = (
  store: SessionStore.Store,
  session: SessionStore.SessionInfo,
  choose: Choice
): Effect.Effect<Asking | undefined, SessionStore.StoreError> =>
  Questions.waiting(store, session.sessionId).pipe(
    Effect.map((all) => {
      const [first, ...others] = choose(all, session.sessionId)
      return first === undefined ? undefined : { session, approvals: [first, ...others] as const }
    }),
    // removed meanwhile, or written by a newer version
    Effect.catchReasons("NonRetryableError", {
      SessionNotFound: () => Effect.succeed(undefined),
      StoreRefused: () => Effect.succeed(undefined)
    })
  )

/** A yes or a no, without what the call's tool would have to check. */
export type Decision = Omit<RunInput.DecideInput, "params" | "result">

/** `decide` of an agent, in a process that has the store alone. Fails as it does. */
export const decide = (
  decision: Decision
): Effect.Effect<void, RunError.RunError, SessionStore.SessionStore> =>
  Effect.flatMap(Effect.fromResult(withoutEdits(decision)), () => idle((agent) => agent.decide(decision)))

/** `steer` of an agent, in a process that has the store alone: a run that is live elsewhere is sent the message. */
export const steer = (
  sessionId: string,
  message: RunInput.RunInput["input"],
  options?: MessageOptions
): Effect.Effect<Delivery.Delivery, RunError.RunError, SessionStore.SessionStore> =>
  idle((agent) => agent.steer(sessionId, message, options))

/** `followUp` of an agent, in the same way. */
export const followUp = (
  sessionId: string,
  message: RunInput.RunInput["input"],
  options?: MessageOptions
): Effect.Effect<Delivery.Delivery, RunError.RunError, SessionStore.SessionStore> =>
  idle((agent) => agent.followUp(sessionId, message, options))

/** `abort` of an agent, in a process that has the store alone: a run that is live elsewhere is ended there. */
export const abort = (sessionId: string): Effect.Effect<void, RunError.RunError, SessionStore.SessionStore> =>
  idle((agent) => agent.abort(sessionId))

/** Callers without types may send what only the tool's agent can check. */
const withoutEdits = (decision: object): Result.Result<void, RunError.NonRetryableError> => {
  const edit = (["params", "result"] as const).find((name) => name in Object(decision))
  return edit === undefined
    ? Result.void
    : Result.fail(
      RunError.invalidInput(edit, `${edit} is checked by the tool's schema: decide with the agent that has the tool`)
    )
}

/** Asks an agent that has neither tools nor a model, and drives nothing. No run is its own: those have hooks that it does not know. */
const idle = <A>(
  ask: (agent: Client<string>) => Effect.Effect<A, RunError.RunError>
): Effect.Effect<A, RunError.RunError, SessionStore.SessionStore> =>
  Effect.flatMap(Agent.make({ name: "fiberloop/Sessions", instructions: "" }), ask).pipe(
    Effect.provide(Layer.merge(Fiberloop.layer, Layer.succeed(Model.Model, nobody)))
  )

const nobody: Model.Model["Service"] = {
  info: { provider: "none", name: "none" },
  stream: () => Stream.die(new Error("fiberloop: an agent that drives nothing asked a model"))
}
