/**
 * Counts what a drive publishes: a fold of its events into metrics.
 *
 * Does not own durations and tokens of single model calls, which are measured around them (`Chat`).
 */
import type * as DurableEvent from "../../run/DurableEvent.ts"
import * as RunEvent from "../../run/RunEvent.ts"
import type * as RunState from "../../run/RunState.ts"
import * as OpenCall from "../../run/state/OpenCall.ts"
import type * as Usage from "../../run/Usage.ts"
import * as Ends from "./Ends.ts"
import type * as Family from "./Family.ts"
import * as Metrics from "./Metrics.ts"
import * as Sink from "./Sink.ts"

const noTotals: Pick<RunEvent.Totals, "duration" | "turns" | "toolRounds"> = { duration: 0, turns: 0, toolRounds: 0 }

/** `before`: the run as the drive found it, whose share is not counted again. */
export const make = (drive: Sink.Drive, before: RunState.RunState, target: Family.Target): Sink.Sink =>
  new Meter(drive, before, target)

type Question = Pick<OpenCall.OpenCall, "callId" | "expiresAt">
/** Those that wait for an answer, by call. */
type Questions = Map<string, Question>

const waitingIn = ({ openCalls }: Pick<RunState.RunState, "openCalls">): Questions =>
  new Map(openCalls.filter(({ phase }) => phase === "awaiting").map((call) => [call.callId, call]))

const answerOf = (event: DurableEvent.Of<"ApprovalResolved">, waiting: Questions | undefined) =>
  !event.approved && OpenCall.isExpired(waiting?.get(event.callId) ?? {}, event.at)
    ? "expired"
    : OpenCall.wordOf(event)

class Meter implements Sink.Sink {
  readonly name = "metrics"
  readonly seesLate = true
  readonly #drive: Sink.Drive
  readonly #before: RunState.RunState
  readonly #target: Family.Target
  readonly #agent: ReturnType<typeof Metrics.ofAgent>
  readonly #running = new Set<string>()
  #waiting: Questions | undefined
  #base = noTotals
  #isLive = false
  /** the meter was closed: what is counted after that is neither live nor waiting */
  #isOver = false

  constructor(drive: Sink.Drive, before: RunState.RunState, target: Family.Target) {
    this.#drive = drive
    this.#before = before
    this.#target = target
    this.#agent = Metrics.ofAgent(drive.agent)
  }

  see(events: ReadonlyArray<RunEvent.RunEvent>): void {
    for (let i = 0; i < events.length; i++) {
      const event = events[i]!
      if (RunEvent.isDurable(event)) this.#count(event)
    }
  }

  close(_: unknown, lost: string | undefined): void {
    this.#isOver = true
    for (const callId of this.#waiting?.keys() ?? []) this.#answered(callId)
    this.#live(false)
    if (lost !== undefined) this.#agent.lost(lost)(1, this.#target)
  }

  #live(isNow: boolean): void {
    if (isNow && this.#isOver) return
    if (this.#isLive !== isNow) this.#agent.live(isNow ? 1 : -1, this.#target)
    this.#isLive = isNow
  }

  #ask(question: Question): void {
    this.#waiting ??= new Map()
    if (this.#isOver) return
    if (!this.#waiting.has(question.callId)) this.#agent.waiting(1, this.#target)
    this.#waiting.set(question.callId, question)
  }

  #answered(callId: string): void {
    if (this.#waiting?.delete(callId) === true) this.#agent.waiting(-1, this.#target)
  }

  /** A message settles the calls of the run before it. */
  #isAsked({ callId, runId }: DurableEvent.Of<"ToolSettled">): boolean {
    return runId === this.#drive.runId
      ? this.#waiting?.has(callId) === true
      : waitingIn(this.#before).has(callId)
  }

  #count(event: RunEvent.Durable): void {
    switch (event._tag) {
      case "RunStarted":
        return this.#live(true)
      case "RunResumed":
        this.#base = this.#before.totals
        for (const call of this.#before.openCalls) if (call.phase === "awaiting") this.#ask(call)
        return this.#live(true)
      case "AttemptDiscarded": {
        const model = event.model === undefined ? undefined : Metrics.ofModel(event.model)
        model?.discarded(event.error._tag).count(1, this.#target)
        if (event.delay !== undefined) Metrics.retried(event.error._tag)(1, this.#target)
        return spend(event.usage, model, this.#target)
      }
      case "AssistantMessage": {
        const model = Metrics.ofModel(event.model)
        model.settled.count(1, this.#target)
        return spend(event.usage, model, this.#target)
      }
      case "ContextCompacted":
      case "CompactionDiscarded":
        return compact(event, this.#target)
      case "ToolStarted":
        this.#running.add(event.callId)
        return undefined
      case "ToolPaused":
        this.#running.delete(event.callId)
        return undefined
      case "ToolSettled": {
        const tool = settled(this.#drive, event)
        tool.count(1, this.#target)
        if (this.#running.delete(event.callId)) tool.duration(event.duration / 1000, this.#target)
        if (this.#isAsked(event)) this.#agent.unanswered(1, this.#target)
        return this.#answered(event.callId)
      }
      case "ApprovalRequested":
        this.#agent.asked(1, this.#target)
        return this.#ask(event)
      case "ApprovalResolved":
        this.#agent[answerOf(event, this.#waiting)](1, this.#target)
        return this.#answered(event.callId)
      case "RunCompleted":
      case "RunLimited":
      case "RunSuspended":
      case "RunFailed":
      case "RunAborted": {
        const { totals } = event
        const cutOff = RunEvent.cutOffOf(event)
        if (cutOff !== undefined) spend(cutOff.usage, Metrics.ofModel(cutOff.model), this.#target)
        const ended = this.#agent.ended(Ends.named(event))
        ended.count(1, this.#target)
        ended.duration((totals.duration - this.#base.duration) / 1000, this.#target)
        this.#agent.turns(totals.turns - this.#base.turns, this.#target)
        this.#agent.toolRounds(totals.toolRounds - this.#base.toolRounds, this.#target)
        return this.#live(false)
      }
      default:
        return undefined
    }
  }
}

/**
 * Counts what is appended while no drive has the session: the end of a drive that died, or of a run that is aborted, with the calls
 * that it left; answers, and questions that get none; and compactions. `before`: the session as it was found.
 */
export const besideDrives = (
  drive: Pick<Sink.Drive, "agent" | "tools">,
  before: Pick<RunState.RunState, "openCalls">,
  target: Family.Target
): Sink.See => {
  const waiting = waitingIn(before)
  return (events) => {
    const metrics = Metrics.ofAgent(drive.agent)
    for (const event of events) {
      switch (event._tag) {
        case "RunAborted":
        case "RunLimited":
          metrics.ended(Ends.named(event)).count(1, target)
          break
        case "ApprovalResolved":
          metrics[answerOf(event, waiting)](1, target)
          waiting.delete(event.callId)
          break
        case "ToolSettled":
          settled(drive, event).count(1, target)
          if (waiting.delete(event.callId)) metrics.unanswered(1, target)
          break
        case "ContextCompacted":
        case "CompactionDiscarded":
          compact(event, target)
          break
        default:
          break
      }
    }
  }
}

const settled = (drive: Pick<Sink.Drive, "tools">, { outcome, tool }: DurableEvent.Of<"ToolSettled">) =>
  Metrics.ofTool(Sink.toolName(drive, tool))(outcome._tag)

/** What a compaction spent is counted without its model, which the log does not know. */
const compact = (
  event: DurableEvent.Of<"ContextCompacted" | "CompactionDiscarded">,
  target: Family.Target
): void => {
  if (event._tag === "ContextCompacted") Metrics.compacted(event.strategy)(1, target)
  spend(event.usage, undefined, target)
}

const spend = (usage: Usage.Usage, model: Metrics.OfModel | undefined, target: Family.Target): void => {
  const spending = model?.spending ?? Metrics.onCompaction
  const { cacheWriteTokens = 0, cachedInputTokens = 0, cost, inputTokens, outputTokens, reasoningTokens = 0 } = usage
  if (inputTokens > 0) spending.input(inputTokens, target)
  if (outputTokens > 0) spending.output(outputTokens, target)
  if (cachedInputTokens > 0) spending.cachedInput(cachedInputTokens, target)
  if (cacheWriteTokens > 0) spending.cacheWrite(cacheWriteTokens, target)
  if (reasoningTokens > 0) spending.reasoning(reasoningTokens, target)
  if (cost !== undefined) spending.cost(cost, target)
}
