/**
 * How a drive gets its session: the session is taken for writing, its log is folded (`Fold`), and it is decided whether this run may
 * begin. Writes nothing; a refusal leaves the session as it was.
 *
 * What becomes of a request, by what is found first:
 *
 *     a live run of this process, with its ids     attached to (`Start`); with other input `RunConflict`
 *     a session that somebody else has             a replay, of a start whose run is over (`past`); else `SessionBusy`
 *     a start, of no run in the log                it begins
 *     a start, of the last run, which was left     it goes on
 *     a start, of another run in the log           a replay; with other input `RunConflict`
 *     a resume, of the last run, which may go on   it goes on
 *     a resume, of any other                       `NothingToResume`
 *
 * Does not own whether a request is the same as an earlier one (`SameRequest`), what a dead drive left open (`Recovery`), nor how a
 * run begins in the log (`FirstEvent`).
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as RunError from "../../run/RunError.ts"
import * as RunEvent from "../../run/RunEvent.ts"
import * as RunState from "../../run/RunState.ts"
import * as RunStatus from "../../run/RunStatus.ts"
import * as Detached from "../../services/fibers/Detached.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import * as DriveRequest from "../env/DriveRequest.ts"
import * as Fold from "../log/Fold.ts"
import * as SameRequest from "./SameRequest.ts"

/** The session is this drive's. */
export interface Ready extends Fold.Folded {
  readonly _tag: "Ready"
  readonly session: SessionStore.Session
  /** a start becomes a resume where its run was cut short by a crash, or has stopped and its call asks for it again */
  readonly begin: DriveRequest.Begin
  /** `seq` of the first event that is this request's to see */
  readonly from: number
}

export type Opened = Ready | { readonly _tag: "Replay"; readonly past: Fold.Past }

/** Hears what other processes say to the run while it has its session. */
interface Hearer {
  readonly abortAsked: () => Effect.Effect<void>
  readonly hear: (sent: SessionStore.Sent) => Effect.Effect<void>
}

/** Called by code that the drive's fiber runs. */
export const open = (
  store: SessionStore.Store,
  request: DriveRequest.DriveRequest,
  hearer: Hearer
): Effect.Effect<Opened, RunError.RunError, Scope.Scope> => {
  const { begin, brief, runId, sessionId } = request
  const context = Detached.contextHere()
  return Effect.flatMap(
    store.open(sessionId, {
      runId,
      create: begin._tag === "Start" && begin.create,
      onAbortAsked: Effect.suspend(() => hearer.abortAsked()),
      // in the drive's context, not in that of who sends it, or finds it
      onSent: (sent) => Effect.provideContext(hearer.hear(sent), context),
      // who resumes it by hand comes after what was asked before
      isAfterAborts: DriveRequest.isByHand(begin)
    }),
    (session) =>
      session.head() === 0 && begin._tag === "Start"
        ? Effect.succeed<Opened>({ _tag: "Ready", session, ...Fold.nothing, begin, from: 1 })
        : Effect.flatMap(look(store, session, request), (opened) => {
          const foreign = isGoneOnWith(opened) ? ofOther(brief, opened.state) : undefined
          return foreign === undefined ? Effect.succeed(opened) : Effect.fail(foreign)
        })
  )
}

const isGoneOnWith = (opened: Opened): opened is Ready => opened._tag === "Ready" && opened.begin._tag === "Resume"

/**
 * Refuses to continue the run of another agent that has calls which this one has no tools for: that would settle them, whatever
 * people have said of them.
 */
const ofOther = ({ agent: name, handlers }: DriveRequest.Brief, { agent, openCalls, runId }: RunState.RunState) => {
  const call = agent === name ? undefined : openCalls.find(({ tool }) => handlers.tools[tool] === undefined)
  return call && RunError.invalidInput(
    "sessionId",
    `run "${runId}" belongs to the agent "${agent}" and has an open call of the tool "${call.tool}", which "${name}" does not ` +
      `have: resume it with that agent, or send a new message, which settles the call`
  )
}

/** Whether a run may begin in a session; of a new one nothing is read. */
const look = Effect.fnUntraced(function*(
  store: SessionStore.Store,
  session: SessionStore.Session,
  request: DriveRequest.DriveRequest
): Effect.fn.Return<Opened, RunError.RunError> {
  const { begin, runId, sessionId } = request
  const folded = session.head() === 0 ? Fold.nothing : yield* Fold.fold(store, sessionId, request.folded)
  const { state } = folded
  const isDead = RunState.isOpen(state)
  const ready: Ready = { _tag: "Ready", session, ...folded, begin, from: state.seq + 1 }
  if (begin._tag === "Resume") {
    if (begin.foundAt !== undefined && begin.foundAt !== state.seq) return yield* RunError.sessionBusy(sessionId)
    return state.runId === runId && (isDead || RunStatus.isResumable(state.status))
      ? ready
      : yield* nothingToResume(sessionId, runId, state)
  }
  const past = yield* Fold.find(store, sessionId, runId, folded)
  if (past !== undefined) {
    const { isAwaited, isOfCall } = yield* asked(past, request, begin)
    if (state.runId === runId) {
      if (!isDead && !wasLeft(state) && !isAwaited) return { _tag: "Replay", past }
      const data = isOfCall ? SameRequest.newData(state.input, begin) : undefined
      return { ...ready, begin: { _tag: "Resume", input: past.input, limits: undefined, data }, from: past.from }
    }
    // its questions are over: a call that waited for it would wait for ever
    if (isAwaited && past.state.end?._tag === "RunSuspended") return yield* nothingToResume(sessionId, runId, state)
    return { _tag: "Replay", past }
  }
  if (begin.input.history !== undefined) {
    return yield* RunError.invalidInput(
      "history",
      "history is for new sessions, and this session already has messages; leave history out"
    )
  }
  return ready
})

/** It ended with its process or its store, and whoever recorded that, with an answer for example, did not continue it. */
const wasLeft = ({ end }: RunState.RunState): boolean => end !== undefined && RunEvent.isLeft(end)

/**
 * Whether a start of a run that is in the log comes from the call which the run works for (`isOfCall`), and whether that call still
 * waits for the run (`isAwaited`). Fails where it is not the request that began the run.
 */
const asked = (past: Fold.Known, request: DriveRequest.DriveRequest, begin: DriveRequest.Start) => {
  const { agent, end, parent } = past.state
  const isOfCall = SameRequest.isOfCall(parent, request, request.settings.callAround)
  const refusal = SameRequest.refusal({ agent, input: past.input }, request, begin, isOfCall)
  const isAwaited = isOfCall && end !== undefined && RunEvent.isUnwanted(end)
  return refusal === undefined ? Effect.succeed({ isOfCall, isAwaited }) : Effect.fail(refusal)
}

/** The run that a start asks for, where it has ended and does not go on; looked for without taking the session. */
export const past = Effect.fnUntraced(function*(
  store: SessionStore.Store,
  request: DriveRequest.DriveRequest
): Effect.fn.Return<Fold.Past | undefined, RunError.RunError> {
  const { begin, runId, sessionId } = request
  if (begin._tag === "Resume") return undefined
  const found = yield* Fold.find(store, sessionId, runId, Fold.nothing)
  if (found?.state.end === undefined) return undefined
  // the last run of a session may still be continued
  if (wasLeft(found.state) && (yield* store.lastOf(sessionId, "RunStarted")) === found.state.startSeq) return undefined
  return (yield* asked(found, request, begin)).isAwaited ? undefined : found
})

export const nothingToResume = (sessionId: string, runId: string | undefined, state: RunState.RunState) =>
  new RunError.NonRetryableError({
    _tag: "NothingToResume",
    sessionId,
    message: state.runId === runId
      ? `the last run of session "${sessionId}" is complete; send a new input instead`
      : `run "${runId}" is not the last run of session "${sessionId}"; only the last one can be resumed, so leave runId out`
  })
