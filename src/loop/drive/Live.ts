/**
 * A run as this process knows it: what outlives its drive, how it is spoken to, and the way to cut the drive off.
 *
 *     Unbegun --its first event is stored--> Begun     `began` sets `env`, opens `inbox`, completes `firstEvent`
 *        |                                     |
 *        |                                     +--its turns are over, or cut off--> Ending     `Ending` clears `env`
 *        |                                                                             |
 *        +--cut off while the store may have its first event---------------------------+
 *        |                                                                             |
 *        +--it cannot begin, or is in the log already--> Over <--its end is told-------+
 *
 * Over: `Telling` has taken the run off `agentRuns` and completed `ended` and, where that was still open, `firstEvent`; `waiting` is set
 * before. A defect of ours leads there from any state. In any state `Stop.cutOff` sets `stopped`, for good, and calls what
 * `Stoppable` has put in `interrupt`, which is set while a part of the drive is waited for.
 *
 * Does not own the work of the drive (`Drive`), its end (`Ending`), what comes before a requested abort cuts it off (`AbortRequest`), nor
 * which runs live here (`Runs`).
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as RunError from "../../run/RunError.ts"
import type * as RunEvent from "../../run/RunEvent.ts"
import type * as RunInput from "../../run/RunInput.ts"
import * as RunResult from "../../run/RunResult.ts"
import type * as RunState from "../../run/RunState.ts"
import type * as Runs from "../../services/Runs.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import * as Budget from "../env/Budget.ts"
import * as DriveRequest from "../env/DriveRequest.ts"
import type * as Env from "../env/Env.ts"
import * as Inbox from "../env/Inbox.ts"
import * as Feed from "../log/Feed.ts"
import * as Questions from "../log/Questions.ts"
import type * as Observing from "../observe/Observing.ts"
import * as Answering from "../round/Answering.ts"
import * as AbortRequest from "./AbortRequest.ts"
import type * as AgentRuns from "./AgentRuns.ts"
import * as Hearing from "./Hearing.ts"
import * as Stop from "./Stop.ts"

export class Live implements Runs.LiveRun {
  readonly runId: string
  readonly sessionId: string
  readonly agent: string
  readonly input: RunInput.Effective
  readonly feed: Feed.Feed
  readonly inbox = new Inbox.Inbox()
  readonly budget: Budget.Budget
  /** completes once the drive's first event is stored, or fails with why there is none */
  readonly firstEvent = Deferred.makeUnsafe<void, RunError.RunError>()
  /** found in its log, and not asked for by a caller */
  readonly isFound: boolean
  /** completes once nothing but an abort that a dead drive had accepted follows, where that left calls open */
  readonly onlyAborts = Deferred.makeUnsafe<void>()
  readonly abortRequest = new AbortRequest.AbortRequest(this)
  readonly ended = Deferred.makeUnsafe<RunResult.RunResult<unknown>, RunError.RunError>()
  /** hold the run until its end is told */
  readonly agentRuns: AgentRuns.AgentRuns
  /** the typed answer of a final text */
  readonly decodeOutput: (text: string) => unknown
  /** hears of the result before anyone is told; set while the run is driven */
  observing: Pick<Observing.Observing, "end" | "trace"> | undefined
  /** what its turns work with, while they are taken */
  env: Env.Env | undefined
  /** the first reason to cut the run off */
  stopped: Stop.Stop | undefined
  /** the state of a run that is suspended with open calls */
  waiting: RunState.RunState | undefined
  /** interrupts the part of the drive under way */
  interrupt: (() => void) | undefined
  readonly #store: SessionStore.Store
  /** set once something is sent from elsewhere */
  #hearing: Hearing.Hearing | undefined

  constructor(
    { store }: Env.Services,
    { begin, brief, isWatched, runId, sessionId }: DriveRequest.DriveRequest,
    agentRuns: AgentRuns.AgentRuns
  ) {
    this.runId = runId
    this.sessionId = sessionId
    this.budget = new Budget.Budget({ sessionId, runId })
    this.feed = new Feed.Feed(store, sessionId, isWatched, () => this.env?.journal.comingIn?.soFar() ?? [])
    this.agentRuns = agentRuns
    this.decodeOutput = brief.decodeOutput
    this.#store = store
    this.agent = brief.agent
    this.input = begin.input
    this.isFound = DriveRequest.isFound(begin)
  }

  get begun() {
    return Deferred.await(this.firstEvent)
  }

  get events() {
    return this.feed.events
  }

  /** With its questions as of its end, without those that have expired by now; those of runs below are read when this is asked for. */
  get result() {
    return Effect.flatMapEager(Deferred.await(this.ended), (result) => this.#whole(result))
  }

  #whole(result: RunResult.RunResult<unknown>): Effect.Effect<RunResult.RunResult<unknown>, RunError.RunError> {
    const { waiting } = this
    if (result._tag !== "Suspended" || waiting?.end?._tag !== "RunSuspended") return Effect.succeed(result)
    const { end } = waiting
    return Effect.map(
      Questions.of(this.#store, this.sessionId, waiting),
      (approvals) => RunResult.waiting(result, end, approvals)
    )
  }

  isOver() {
    return Deferred.isDoneUnsafe(this.ended)
  }

  /**
   * The drive's first event is in the store: from here on the run is spoken to. A parked run takes no inputs: its end leaves what
   * waits to whoever comes next, and their senders would be told that it is never delivered.
   */
  began(env: Env.Env, isParked = false): void {
    this.env = env
    if (!isParked) this.inbox.open(env.journal)
    Deferred.doneUnsafe(this.firstEvent, Exit.void)
  }

  decide(decision: RunInput.DecideInput, id?: string) {
    return Effect.andThen(
      Effect.exit(this.begun),
      Effect.suspend(() =>
        // a run that was told to stop takes up no more answers
        this.stopped !== undefined || this.env === undefined
          ? Effect.succeed(false)
          : Answering.live(this.env, this.#store, decision, id, (error) => this.#fail(error))
      )
    )
  }

  accept(input: Inbox.Input) {
    return Effect.andThen(this.begun, this.inbox.accept(input, (error) => this.#fail(error)))
  }

  /** Somebody elsewhere says something, maybe again. What becomes of it, they read in the log. */
  hear(sent: SessionStore.Sent): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.#hearing ??= new Hearing.Hearing(this.#store, this)
      return this.#hearing.hear(sent)
    })
  }

  /** A failed write ends the run, even one of an input or an answer. */
  #fail(error: RunError.RunError): Effect.Effect<void> {
    return Effect.sync(() => Stop.cutOff(this, { _tag: "RunFailed", error }))
  }

  /** A requested abort is stored before it is carried out (`AbortRequest`). All other reasons cut off at once. */
  abort(reason: RunEvent.AbortedReason): Effect.Effect<void> {
    return reason === "requested" ? this.abortRequest.ask(this.isFound) : Effect.suspend(() => this.end(reason))
  }

  /** Somebody who knows the run from its log wants it aborted. */
  abortAsked(): Effect.Effect<void> {
    return this.abortRequest.ask(true)
  }

  /** Cuts off as soon as it is called; returns the wait for the end. */
  end(reason: RunEvent.AbortedReason): Effect.Effect<void> {
    Stop.cutOff(this, { _tag: "RunAborted", reason })
    return this.over()
  }

  /** Waits for its end. */
  over(): Effect.Effect<void> {
    return this.isOver() ? Effect.void : Effect.asVoid(Effect.exit(Deferred.await(this.ended)))
  }
}
