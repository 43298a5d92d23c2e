/**
 * The state of a session's current run: a fold of its durable events. `evolve` is pure, and total, even on logs with
 * holes; a live run and a replayed one cannot differ.
 *
 * Does not own what drives (`RunDrive`), the model calls of a turn (`RunTurn`), its tool calls (`RunRound`) and compactions
 * (`RunCompaction`) do to it, what follows from it (`RunDecision`), the moves between statuses (`RunStatus`), or messages (`Transcript`).
 */
import * as DoomLoop from "./DoomLoop.ts"
import type * as Message from "./Message.ts"
import type * as Pointer from "./Pointer.ts"
import type * as RunEvent from "./RunEvent.ts"
import type * as RunInput from "./RunInput.ts"
import type * as RunPolicy from "./RunPolicy.ts"
import * as RunStatus from "./RunStatus.ts"
import type * as CallQuota from "./state/CallQuota.ts"
import type * as Measure from "./state/Measure.ts"
import type * as OpenCall from "./state/OpenCall.ts"
import * as Queue from "./state/Queue.ts"
import * as RunCompaction from "./state/RunCompaction.ts"
import * as RunDrive from "./state/RunDrive.ts"
import * as RunRound from "./state/RunRound.ts"
import * as RunTurn from "./state/RunTurn.ts"
import * as Totals from "./Totals.ts"

/** Plain data. Snapshots keep it (`log/Snapshot`): if its shape changes, their version goes up. */
export interface RunState {
  /** one of the statuses that the log knows; see `RunStatus` */
  readonly status: RunEvent.Status
  /** `seq` of the last event folded in; 0 in an empty session */
  readonly seq: number
  /** when that was recorded, in milliseconds since the epoch */
  readonly at: number
  /** undefined before the session's first run */
  readonly runId: string | undefined
  /** `seq` of its `RunStarted`, 0 before the first */
  readonly startSeq: number
  /** what the run was started with; `data` as given to the last drive */
  readonly input: RunInput.Effective | undefined
  /** the call, of a run around it, that this run works for */
  readonly parent: Pointer.Parent | undefined
  /** the name of its agent */
  readonly agent: string | undefined
  /** the limits of the drive under way: `resume` may have replaced some */
  readonly limits: RunPolicy.Limits
  /** counts this run's drives from 1 */
  readonly drive: number
  /** milliseconds since the epoch */
  readonly driveStartedAt: number
  /** since when the drive has been waiting for a person, and how long it has waited in all, in milliseconds */
  readonly waitingSince: number | undefined
  readonly waited: number
  /** the turn under way or just finished, from 1; 0 before the first */
  readonly turn: number
  /** attempts at the turn's model call so far, including earlier drives */
  readonly attempts: number
  /** retries of this run's model calls, over all turns, compactions and drives */
  readonly retries: number
  /** milliseconds that this run lost to attempts that do not count, and to the waits after them */
  readonly lostTime: number
  /** the model that took over for the rest of the run, and how often one did */
  readonly switchedTo: Message.ModelRef | undefined
  readonly switches: number
  /** what is settled; `totalsAt` adds the time of the drive under way */
  readonly totals: RunEvent.Totals
  /** compactions since the run's last answer, except those by hand */
  readonly compactionsInARow: number
  /** how often the model was told that its answer does not fit the output schema */
  readonly corrections: number
  /** the calls of the turn's message that have no outcome, in call order */
  readonly openCalls: ReadonlyArray<OpenCall.OpenCall>
  /** the calls settled since the last input; loops are looked for in them */
  readonly trail: DoomLoop.Trail
  /** how many calls of each tool this run has started, or people have given the result of */
  readonly started: CallQuota.Started
  /** the tools that the turn was offered, if fewer than the run may use */
  readonly offered: ReadonlyArray<string> | undefined
  /** input to the run that has not reached its model yet */
  readonly queued: Queue.Queue
  /** a call of the round under way was started, or a person gave its result */
  readonly hasRun: boolean
  /** the limit that ended the drive before, unless limits given since leave room */
  readonly limitedBy: RunEvent.LimitedReason | undefined
  /** the settled answer of the turn under way, with the number of its calls, until the turn is finished */
  readonly answer: RunTurn.Answer | undefined
  /** text of the last assistant message of this run */
  readonly text: string
  /** how the last drive ended; undefined while one is under way, or when it died */
  readonly end: RunEvent.End | undefined
  /** an abort was accepted, and the drive that accepted it has no end yet */
  readonly abortRequested: RunEvent.AbortedReason | undefined
  /** what providers reported about the size of what they were sent */
  readonly measured: Measure.Measure | undefined
  /** drives that died, or lost their store, one after the other, with no turn between them whose outcomes are all known */
  readonly crashes: number
}

/** The state of a session without a run: where a fold begins. */
export const empty: RunState = {
  status: "idle",
  seq: 0,
  at: 0,
  runId: undefined,
  startSeq: 0,
  input: undefined,
  parent: undefined,
  agent: undefined,
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
  totals: Totals.zero,
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

/** A state while it is being made: a copy that nobody else holds. */
export type Next = { -readonly [Key in keyof RunState]: RunState[Key] }

/** Folds one durable event in. Events of a type this version does not know change nothing but `seq` and `at`. */
export const evolve = (before: RunState, event: RunEvent.Durable): RunState => {
  const { at, seq } = event
  // a run takes over nothing from the run before it but what was measured
  const next: Next = event._tag === "RunStarted"
    ? { ...empty, seq, at, measured: before.measured }
    : { ...before, seq, at }
  next.queued = Queue.evolve(before.queued, event)
  switch (event._tag) {
    case "RunStarted":
      RunDrive.start(next, event)
      break
    case "RunResumed":
      RunDrive.resume(next, event, isTurnOpen(before))
      break
    case "TurnStarted":
      RunTurn.start(next, event)
      break
    case "AttemptDiscarded":
      RunTurn.discardAttempt(next, event)
      break
    case "ModelSwitched":
      RunTurn.switchModel(next, event)
      break
    case "AssistantMessage":
      RunTurn.settleMessage(next, event)
      break
    case "ApprovalRequested":
      RunRound.askCall(next, event)
      break
    case "ApprovalResolved":
      RunRound.answerCall(next, event)
      break
    case "ToolStarted":
      RunRound.startCall(next, event)
      break
    case "ToolPaused":
      RunRound.pauseCall(next, event)
      break
    case "ToolSettled":
      RunRound.settleCall(next, event)
      break
    case "TurnFinished":
      RunTurn.finish(next)
      break
    // only the queue changes
    case "InputQueued":
      break
    case "InputReceived":
      next.trail = []
      // what is answered from here on is another answer
      next.corrections = 0
      break
    case "NoticeAdded":
      next.corrections += event.kind === "invalidOutput" ? 1 : 0
      next.trail = told(before.trail, event)
      break
    case "ContextCompacted":
      RunCompaction.compact(next, event)
      break
    case "CompactionDiscarded":
      RunCompaction.discard(next, event)
      break
    case "RunLimited":
      RunDrive.end(next, event)
      next.trail = told(before.trail, event)
      break
    case "RunCompleted":
    case "RunSuspended":
    case "RunFailed":
    case "RunAborted":
      RunDrive.end(next, event)
      break
    case "AbortRequested":
      next.abortRequested = event.reason
      break
  }
  return next
}

const told = (trail: DoomLoop.Trail, { loop }: { readonly loop?: DoomLoop.Loop }): DoomLoop.Trail =>
  loop === undefined ? trail : DoomLoop.tell(trail, loop)

/** Whether the log has an answer or calls whose turn is not finished: the next drive takes up that turn. */
export const isTurnOpen = (state: RunState): boolean => state.openCalls.length > 0 || state.answer !== undefined

/** The number of the turn that begins next: a turn without an answer begins again. */
export const nextTurn = ({ totals }: RunState): number => totals.turns + 1

/** Whether a drive began and never wrote its end: its process died, or its store failed. */
export const isOpen = (state: RunState): boolean => state.status !== "idle" && !RunStatus.isEnd(state.status)

/**
 * The totals as of now: the time of a drive under way is added up to `at`, without time spent waiting for people; after an
 * end, the totals of the end.
 */
export const totalsAt = (
  { driveStartedAt, end, totals, waited, waitingSince }: RunState,
  at: number
): RunEvent.Totals =>
  end === undefined
    ? { ...totals, duration: totals.duration + Math.max(0, (waitingSince ?? at) - driveStartedAt - waited) }
    : totals
