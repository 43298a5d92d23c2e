/**
 * The state of a session's current run: a fold of its durable events. `evolve` is total, also on logs with holes, and
 * pure; a live run and a replayed one cannot differ.
 *
 * Does not own what drives (`RunDrive`) and a message's calls (`RunRound`) do to it, what follows from it (`RunDecision`), the
 * moves between statuses (`RunStatus`), or messages (`Transcript`).
 */
import * as DoomLoop from "./DoomLoop.ts"
import type * as Message from "./Message.ts"
import type * as RunEvent from "./RunEvent.ts"
import type * as RunInput from "./RunInput.ts"
import type * as RunPolicy from "./RunPolicy.ts"
import * as RunStatus from "./RunStatus.ts"
import type * as CallQuota from "./state/CallQuota.ts"
import * as Measure from "./state/Measure.ts"
import type * as OpenCall from "./state/OpenCall.ts"
import * as Queue from "./state/Queue.ts"
import * as RunDrive from "./state/RunDrive.ts"
import * as RunRound from "./state/RunRound.ts"
import * as Usage from "./Usage.ts"

export interface RunState {
  readonly status: RunEvent.Status
  /** `seq` of the last event folded in; 0 in an empty session */
  readonly seq: number
  /** when that was recorded, in milliseconds since the epoch */
  readonly at: number
  /** undefined before the session's first run */
  readonly runId: string | undefined
  /** `seq` of its `RunStarted`, 0 before the first */
  readonly startSeq: number
  readonly input: RunInput.Effective | undefined
  readonly limits: RunPolicy.Limits
  /** counts this run's drives from 1 */
  readonly drive: number
  readonly driveStartedAt: number
  /** since when the drive has been waiting for a person, and how long it has in all, in milliseconds */
  readonly waitingSince: number | undefined
  readonly waited: number
  /** the turn under way or just finished, from 1; 0 before the first */
  readonly turn: number
  /** attempts at the turn's model call so far, also by earlier drives */
  readonly attempts: number
  /** retries of this run's model calls, of all its turns and drives */
  readonly retries: number
  /** milliseconds that this run lost to attempts that do not count, and to the waits behind them */
  readonly lostTime: number
  /** the model that took over for the rest of the run, and how many times that came about */
  readonly switchedTo: Message.ModelRef | undefined
  readonly switches: number
  readonly totals: RunEvent.Totals
  readonly compactionsInARow: number
  readonly corrections: number
  readonly openCalls: ReadonlyArray<OpenCall.OpenCall>
  /** the calls settled since the last input, where loops are looked for */
  readonly trail: DoomLoop.Trail
  /** how many calls of each tool this run has started */
  readonly started: CallQuota.Started
  /** the tools that the turn was offered, where those were fewer than the run may use */
  readonly offered: ReadonlyArray<string> | undefined
  /** what was said to the run and has not reached its model yet */
  readonly queued: Queue.Queue
  /** a call of the round under way has run */
  readonly hasRun: boolean
  /** the limit that ended the drive before, where no new limits were given since */
  readonly limitedBy: RunEvent.LimitedReason | undefined
  /** the settled answer of the turn under way, with the number of its calls, until the turn is finished */
  readonly answer: RunRound.Answer | undefined
  /** text of the last assistant message of this run */
  readonly text: string
  readonly end: RunEvent.End | undefined
  /** an abort was accepted, and the drive that accepted it has no end yet */
  readonly abortRequested: RunEvent.AbortedReason | undefined
  /** what providers said of the size of what they were sent */
  readonly measured: Measure.Measure | undefined
  /** drives that died, one after the other, with no turn between them whose outcomes are all known */
  readonly crashes: number
}

const noTotals: RunEvent.Totals = {
  turns: 0,
  toolRounds: 0,
  toolCalls: 0,
  errors: 0,
  compactions: 0,
  duration: 0,
  usage: Usage.zero
}

export const empty: RunState = {
  status: "idle",
  seq: 0,
  at: 0,
  runId: undefined,
  startSeq: 0,
  input: undefined,
  limits: {},
  drive: 0,
  driveStartedAt: 0,
  waitingSince: undefined,
  waited: 0,
  turn: 0,
  attempts: 0,
  retries: 0,
  lostTime: 0,
  switchedTo: undefined,
  switches: 0,
  totals: noTotals,
  compactionsInARow: 0,
  corrections: 0,
  openCalls: [],
  trail: [],
  started: {},
  offered: undefined,
  queued: [],
  hasRun: false,
  limitedBy: undefined,
  answer: undefined,
  text: "",
  end: undefined,
  abortRequested: undefined,
  measured: undefined,
  crashes: 0
}

/** Folds one durable event in. Events of a type this version does not know change nothing but `seq` and `at`. */
export const evolve = (before: RunState, event: RunEvent.Durable): RunState => {
  const state = { ...before, seq: event.seq, at: event.at }
  switch (event._tag) {
    case "RunStarted":
      return {
        ...empty,
        status: "preparing",
        seq: event.seq,
        at: event.at,
        runId: event.runId,
        startSeq: event.seq,
        input: event.input,
        limits: event.input.limits,
        measured: before.measured,
        drive: 1,
        driveStartedAt: event.at
      }
    case "RunResumed":
      return RunDrive.resume(state, event, isTurnOpen(state))
    case "TurnStarted":
      return {
        ...state,
        status: "preparing",
        turn: event.turn,
        attempts: event.turn === state.turn ? state.attempts : 0,
        offered: event.tools,
        answer: undefined,
        measured: Measure.send(state.measured, event)
      }
    case "AttemptDiscarded":
      return {
        ...state,
        attempts: event.attempt,
        retries: state.retries + (event.delay === undefined ? 0 : 1),
        lostTime: state.lostTime + (event.duration ?? 0) + (event.delay ?? 0),
        measured: Measure.discard(state.measured, event),
        totals: {
          ...state.totals,
          errors: state.totals.errors + 1,
          usage: Usage.add(state.totals.usage, event.usage)
        }
      }
    case "ModelSwitched":
      return { ...state, switchedTo: event.to, switches: state.switches + 1 }
    case "AssistantMessage":
      return { ...RunRound.settleMessage(state, event), measured: Measure.answer(state.measured, event) }
    case "ApprovalRequested":
      return RunRound.askCall(state, event)
    case "ApprovalResolved":
      return RunRound.answerCall(state, event)
    case "ToolStarted":
      return RunRound.startCall(state, event)
    case "ToolSettled":
      return RunRound.settleCall(state, event)
    case "TurnFinished":
      return {
        ...state,
        status: "preparing",
        answer: undefined,
        queued: Queue.finishTurn(state.queued, event),
        crashes: state.answer !== undefined && RunRound.hasUnknown(state.answer) ? state.crashes : 0
      }
    case "InputQueued":
      return { ...state, queued: Queue.add(state.queued, event) }
    case "InputReceived":
      return { ...state, queued: Queue.receive(state.queued, event), trail: [] }
    case "NoticeAdded":
      return {
        ...state,
        corrections: state.corrections + (event.kind === "invalidOutput" ? 1 : 0),
        trail: told(state.trail, event)
      }
    case "ContextCompacted":
      return {
        ...state,
        compactionsInARow: state.compactionsInARow + (event.cause === "manual" ? 0 : 1),
        totals: {
          ...state.totals,
          compactions: state.totals.compactions + 1,
          usage: Usage.add(state.totals.usage, event.usage)
        }
      }
    case "CompactionDiscarded":
      return { ...state, totals: { ...state.totals, usage: Usage.add(state.totals.usage, event.usage) } }
    case "RunCompleted":
      return RunDrive.end(state, event, "completed")
    case "RunLimited":
      return { ...RunDrive.end(state, event, "limited"), trail: told(state.trail, event) }
    case "RunSuspended":
      return RunDrive.end(state, event, "suspended")
    case "RunFailed":
      return RunDrive.end(state, event, "failed")
    case "RunAborted":
      return RunDrive.end(state, event, "aborted")
    case "AbortRequested":
      return { ...state, abortRequested: event.reason }
    default:
      return state
  }
}

const told = (trail: DoomLoop.Trail, { loop }: { readonly loop?: DoomLoop.Loop }): DoomLoop.Trail =>
  loop === undefined ? trail : DoomLoop.tell(trail, loop)

/** True when the log has an answer or calls whose turn is not finished: the next drive takes that turn up. */
export const isTurnOpen = (state: RunState): boolean => state.openCalls.length > 0 || state.answer !== undefined

/** True when a drive began and never wrote its end: its process died, or its store did. */
export const isOpen = (state: RunState): boolean => state.status !== "idle" && !RunStatus.isEnd(state.status)

/** The totals as of now: drive time is added up to `at`, without what was spent waiting for people. */
export const totalsAt = (state: RunState, at: number): RunEvent.Totals => ({
  ...state.totals,
  duration: state.totals.duration + Math.max(0, (state.waitingSince ?? at) - state.driveStartedAt - state.waited)
})
