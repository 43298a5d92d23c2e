/**
 * How a drive gets its session: taken for writing, its log folded, and the question answered whether this run may begin.
 * Writes nothing; a refusal leaves the session as it was. Does not own what a dead drive left open (`Recovery`).
 */
import * as Effect from "effect/Effect"
import type { Json } from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as RunError from "../run/RunError.ts"
import type * as RunEvent from "../run/RunEvent.ts"
import * as RunInput from "../run/RunInput.ts"
import type * as RunPolicy from "../run/RunPolicy.ts"
import * as RunState from "../run/RunState.ts"
import * as RunStatus from "../run/RunStatus.ts"
import * as Transcript from "../run/Transcript.ts"
import type * as SessionStore from "../services/SessionStore.ts"

export type Begin =
  | { readonly _tag: "Start"; readonly input: RunInput.Effective; readonly create: boolean }
  | { readonly _tag: "Resume"; readonly limits: RunPolicy.Limits | undefined; readonly data: Json | undefined }

/** A log folded up to `state.seq`. */
export interface Folded {
  readonly state: RunState.RunState
  readonly transcript: Transcript.Transcript
}

export const nothing: Folded = { state: RunState.empty, transcript: Transcript.empty }

/** What is in the log already of a run, between two places of it. */
export interface Past {
  readonly from: number
  readonly to: number
  readonly state: RunState.RunState
}

/** A run of the id that was asked for. */
interface Known extends Past {
  readonly input: RunInput.Effective
}

/** The session is this drive's. */
export interface Ready extends Folded {
  readonly _tag: "Ready"
  readonly session: SessionStore.Session
  /** a start that finds its run cut short by a crash goes on with it */
  readonly begin: Begin
  /** `seq` of the first event that is this request's to see */
  readonly from: number
}

export type Opened = Ready | { readonly _tag: "Replay"; readonly past: Past }

type Store = SessionStore.SessionStore["Service"]

/** Folds what the log holds behind `folded`, and finds the run `runId` in it. */
export const fold = (
  store: Store,
  sessionId: string,
  runId: string | undefined,
  folded: Folded
): Effect.Effect<Folded & { readonly past: Known | undefined }, SessionStore.StoreError> =>
  Effect.suspend(() => {
    let { state, transcript } = folded
    let past: Known | undefined
    const take = (event: RunEvent.Durable) => {
      state = RunState.evolve(state, event)
      transcript = Transcript.append(transcript, event)
      if (event.runId !== runId) return
      if (event._tag === "RunStarted") past = { input: event.input, from: event.seq, to: event.seq, state }
      // behind its end a run goes on only when it is resumed
      else if (past !== undefined && (past.state.end === undefined || event._tag === "RunResumed")) {
        past = { ...past, to: event.seq, state }
      }
    }
    return store.read(sessionId, { from: state.seq + 1 }).pipe(
      Stream.runForEachArray((events) => Effect.sync(() => events.forEach(take))),
      Effect.map(() => ({ state, transcript, past }))
    )
  })

export const open = Effect.fnUntraced(function*(
  store: Store,
  sessionId: string,
  runId: string,
  begin: Begin,
  known: Folded
): Effect.fn.Return<Opened, RunError.RunError, Scope.Scope> {
  const session = yield* store.open(sessionId, { runId, create: begin._tag === "Start" && begin.create })
  const { past, state, transcript } = session.head() === 0
    ? { ...nothing, past: undefined }
    : yield* fold(store, sessionId, runId, known)
  const isDead = RunState.isOpen(state)
  const ready: Ready = { _tag: "Ready", session, state, transcript, begin, from: state.seq + 1 }
  if (begin._tag === "Resume") {
    return state.runId === runId && (isDead || RunStatus.isResumable(state.status))
      ? ready
      : yield* nothingToResume(sessionId, runId, state)
  }
  if (past !== undefined) {
    if (RunInput.canonical(past.input) !== RunInput.canonical(begin.input)) return yield* RunError.runConflict(runId)
    return isDead && state.runId === runId ? { ...ready, begin: goOn, from: past.from } : { _tag: "Replay", past }
  }
  if (begin.input.history !== undefined && state.seq > 0) {
    return yield* RunError.invalidInput("history", "history is for new sessions; this session has messages already")
  }
  return ready
})

const goOn: Begin = { _tag: "Resume", limits: undefined, data: undefined }

export const nothingToResume = (sessionId: string, runId: string | undefined, state: RunState.RunState) =>
  new RunError.NonRetryableError({
    _tag: "NothingToResume",
    sessionId,
    message: state.runId !== undefined && runId !== undefined && state.runId !== runId
      ? `run "${runId}" is not the last run of session "${sessionId}"; only the last one can be resumed`
      : `the last run of session "${sessionId}" is complete; send a new input instead`
  })
