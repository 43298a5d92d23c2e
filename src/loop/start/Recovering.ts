/**
 * Looks for the runs of an agent that nobody drives, and takes each up.
 *
 * Does not own which runs those are (`TakingUp`), how one is taken up (`Launch`), nor what a drive that died has left open (`Recovery`).
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Stream from "effect/Stream"
import type * as InputCheck from "../../run/InputCheck.ts"
import * as RunError from "../../run/RunError.ts"
import * as RunDrive from "../../run/state/RunDrive.ts"
import type * as Runs from "../../services/Runs.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import * as Listing from "../log/Listing.ts"
import * as KnownLogs from "./KnownLogs.ts"
import type * as Started from "./Started.ts"
import * as TakingUp from "./TakingUp.ts"

/** What became of the runs that were found. */
export interface Recovered {
  readonly runs: ReadonlyArray<Runs.LiveRun>
  readonly refused: ReadonlyArray<{ readonly sessionId: string; readonly error: RunError.RunError }>
  /** why the others were not looked at */
  readonly stoppedBy?: RunError.RunError
}

interface Options {
  readonly store: SessionStore.Store
  /** the name of the agent */
  readonly agent: string
  /** takes up the last run of a session, if `seq` is still the last event of its log */
  readonly takeUp: (sessionId: string, seq: number) => Started.Starting
}

/** How long a run that died twice in a row (`TakingUp`) waits after its last event, in milliseconds; four times as long per further death. */
const firstWait = 60_000

/** How long a run is left alone whose log is older than is asked for, unless that grows, in milliseconds. */
const seldom = 600_000

/** A store that fails this often in a row is not asked again. */
const mostFailures = 3

/**
 * Looks as often as it is asked to. A log that needs nothing is read once, and again only when it has grown, or when its questions have
 * expired; the log of another agent's run is read by one of the agents of a store. What depends on other logs is read by each look, and
 * seldom once its own log is old: nobody may ever answer.
 */
export class Recovering {
  readonly #options: Options
  readonly #known: KnownLogs.KnownLogs
  /** the last run taken up of those that died again and again */
  #suspect: Runs.LiveRun | undefined

  constructor(options: Options) {
    this.#options = options
    this.#known = new KnownLogs.KnownLogs(options.store)
  }

  look(given: InputCheck.Recovery): Effect.Effect<Recovered, RunError.RunError> {
    return Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const { store } = this.#options
      const look = new Look(this.#options, given, now, this.#known, this.#suspect)
      const left = Stream.takeWhile(
        Listing.all(store, { ends: [undefined], unowned: true }),
        ({ updatedAt }) => now - updatedAt <= given.within
      )
      // a question may expire, or be answered below a call, long after the log was last written to
      const waiting = Listing.all(store, { ends: ["RunSuspended"], unowned: true })
      const sessions = given.answered ? Stream.concat(left, waiting) : left
      return Effect.matchEffect(Stream.runForEachWhile(sessions, (info) => look.at(info)), {
        onSuccess: () => Effect.succeed(this.#keep(look, !look.isFull())),
        onFailure: (error) => {
          const found = this.#keep(look, false)
          // runs taken up before the failure are under way
          return found.runs.length + found.refused.length === 0
            ? Effect.fail(error)
            : Effect.succeed({ ...found, stoppedBy: error })
        }
      })
    })
  }

  #keep({ found, logs, suspect }: Look, hasSeenAll: boolean): Recovered {
    this.#known.keep(logs, hasSeenAll)
    this.#suspect = suspect
    return found
  }
}

/** One look. */
class Look {
  /** what is known of the logs that it has come by */
  readonly logs = new Map<string, KnownLogs.Known>()
  suspect: Runs.LiveRun | undefined
  readonly #runs: Array<Runs.LiveRun> = []
  readonly #refused: Array<Recovered["refused"][number]> = []
  readonly #options: Options
  readonly #given: InputCheck.Recovery
  readonly #now: number
  readonly #known: KnownLogs.KnownLogs
  #failures = 0

  constructor(
    options: Options,
    given: InputCheck.Recovery,
    now: number,
    known: KnownLogs.KnownLogs,
    suspect: Runs.LiveRun | undefined
  ) {
    this.#options = options
    this.#given = given
    this.#now = now
    this.#known = known
    this.suspect = suspect
  }

  get found(): Recovered {
    return { runs: this.#runs, refused: this.#refused }
  }

  isFull(): boolean {
    return this.#runs.length >= this.#given.limit
  }

  /** Takes up a session's run where that is due; returns `false` when no more are to be looked at. Fails when none can be. */
  at(info: SessionStore.SessionInfo): Effect.Effect<boolean, RunError.RunError> {
    const { sessionId } = info
    const known = this.#known.of(info)
    if (known !== undefined && this.#isEnough(known, info)) {
      this.logs.set(sessionId, known)
      return Effect.succeed(true)
    }
    return Effect.flatMap(Effect.exit(this.#taken(info)), (exit) => {
      if (Exit.isFailure(exit)) return this.#failed(sessionId, exit.cause)
      this.#failures = 0
      if (exit.value !== undefined) this.#runs.push(exit.value.run)
      return Effect.succeed(!this.isFull())
    })
  }

  /** Whether what is known of a log as it is need not be read again. */
  #isEnough({ agent, left, until }: KnownLogs.Known, { updatedAt }: SessionStore.SessionInfo): boolean {
    if (agent !== this.#options.agent || this.#now < until) return true
    const { within } = this.#given
    // what happens to a run has to be seen before it is too old itself
    return this.#isOld(updatedAt) && left !== undefined && left.within >= within &&
      this.#now - left.at < Math.min(seldom, within / 2)
  }

  #isOld(at: number): boolean {
    return this.#now - at > this.#given.within
  }

  #failed(sessionId: string, cause: Cause.Cause<RunError.RunError>): Effect.Effect<boolean, RunError.RunError> {
    // the look itself was interrupted
    if (Cause.hasInterrupts(cause)) return Effect.failCause(cause)
    const error = RunError.fromCause(cause)
    const { _tag } = error.reason
    this.#failures = _tag === "StoreUnavailable" ? this.#failures + 1 : 0
    if (_tag === "ShuttingDown" || this.#failures >= mostFailures) return Effect.fail(error)
    if (!isOthers(_tag)) this.#refused.push({ sessionId, error })
    return Effect.succeed(true)
  }

  #taken(
    { createdAt, sessionId }: SessionStore.SessionInfo
  ): Effect.Effect<Started.Started | undefined, RunError.RunError> {
    const { agent, store, takeUp } = this.#options
    return Effect.flatMap(TakingUp.judge(store, sessionId, agent), (judged) => {
      const { at, deaths, isDue, seq, until } = judged
      const isLeft = !isDue || this.#isOld(at)
      const left = isLeft && judged.agent === agent ? { at: this.#now, within: this.#given.within } : undefined
      this.#learn(sessionId, { createdAt, seq, agent: judged.agent, until, left })
      if (isLeft || this.#waits(judged)) return Effect.undefined
      const taking = takeUp(sessionId, seq)
      return deaths < RunDrive.suspicious.alone ? taking : Effect.map(taking, (started) => {
        this.suspect = started.run
        return started
      })
    })
  }

  #learn(sessionId: string, known: KnownLogs.Known): void {
    this.logs.set(sessionId, known)
    this.#known.share(sessionId, known)
  }

  /**
   * A run may be what kills its process again and again, with everything else in that process. So it waits longer each time, and
   * from the third death on also for the end of the suspect before it.
   */
  #waits({ at, deaths }: TakingUp.Judged): boolean {
    const { alone, waits } = RunDrive.suspicious
    if (deaths < waits) return false
    const isSuspected = this.suspect !== undefined && !this.suspect.isOver()
    // where the clock was set back since, nobody knows how long ago that was
    return Math.abs(this.#now - at) < firstWait * 4 ** (deaths - waits) || (deaths >= alone && isSuspected)
  }
}

/** Somebody else was faster to continue, end, abort or remove the run: the next look finds what they left. */
const isOthers = (reason: RunError.RunError["reason"]["_tag"]): boolean =>
  reason === "SessionBusy" || reason === "StaleWriter" || reason === "SessionNotFound" ||
  reason === "NothingToResume" ||
  reason === "AbortedBeforeStart"
