/**
 * Looks for the runs of an agent that nobody drives, and takes each up.
 *
 * Does not own which runs those are (`Left`), how one is taken up (`Launch`), nor what a drive that died has left open (`Recovery`).
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Stream from "effect/Stream"
import type * as InputCheck from "../../run/InputCheck.ts"
import * as RunError from "../../run/RunError.ts"
import type * as Runs from "../../services/Runs.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import * as Listing from "../log/Listing.ts"
import * as Left from "./Left.ts"
import type * as Started from "./Started.ts"

/** What became of them. */
export interface Recovered {
  readonly runs: ReadonlyArray<Runs.LiveRun>
  readonly refused: ReadonlyArray<{ readonly sessionId: string; readonly error: RunError.RunError }>
  /** why the others were not looked at */
  readonly stoppedBy?: RunError.RunError
}

interface Options {
  readonly store: SessionStore.SessionStore["Service"]
  /** the name of the agent */
  readonly agent: string
  /** takes the last run of a session up, where `seq` is the last event of its log */
  readonly takeUp: (sessionId: string, seq: number) => Started.Starting
}

/** Looks, as often as it is asked to. Logs that nothing is to be done about are read once, until something is added to them. */
export class Recovering {
  readonly #options: Options
  /** the heads of those logs, by session */
  #passed: ReadonlyMap<string, number> = new Map()

  constructor(options: Options) {
    this.#options = options
  }

  look({ answered, limit }: InputCheck.Recovery): Effect.Effect<Recovered, RunError.RunError> {
    return Effect.suspend(() => {
      const { store } = this.#options
      const ends = answered ? [undefined, "RunSuspended" as const] : [undefined]
      const looking = new Look(this.#options, limit, this.#passed)
      return Effect.matchEffect(
        Stream.runForEachWhile(Listing.all(store, { ends, unowned: true }), (info) => looking.at(info)),
        {
          onSuccess: () => {
            if (!looking.isFull()) this.#passed = looking.passed
            return Effect.succeed(looking.found)
          },
          // what was taken up by then is under way
          onFailure: (error) =>
            looking.found.runs.length === 0
              ? Effect.fail(error)
              : Effect.succeed({ ...looking.found, stoppedBy: error })
        }
      )
    })
  }
}

/** One look. */
class Look {
  readonly passed = new Map<string, number>()
  readonly #runs: Array<Runs.LiveRun> = []
  readonly #refused: Array<Recovered["refused"][number]> = []
  readonly #options: Options
  readonly #limit: number
  readonly #passedBefore: ReadonlyMap<string, number>
  #hasSuspect = false

  constructor(options: Options, limit: number, passedBefore: ReadonlyMap<string, number>) {
    this.#options = options
    this.#limit = limit
    this.#passedBefore = passedBefore
  }

  get found(): Recovered {
    return { runs: this.#runs, refused: this.#refused }
  }

  isFull(): boolean {
    return this.#runs.length >= this.#limit
  }

  /** Takes a run up where that is for it; `false` where no more are to be looked at. Fails where none can be. */
  at({ head, sessionId }: SessionStore.SessionInfo): Effect.Effect<boolean, RunError.RunError> {
    if (this.#passedBefore.get(sessionId) === head) {
      this.passed.set(sessionId, head)
      return Effect.succeed(true)
    }
    return Effect.flatMap(Effect.exit(this.#taken(sessionId)), (exit) => {
      if (Exit.isSuccess(exit)) {
        if (exit.value !== undefined) this.#runs.push(exit.value.run)
        return Effect.succeed(!this.isFull())
      }
      if (Cause.hasInterrupts(exit.cause)) return Effect.failCause(exit.cause)
      const error = RunError.fromCause(exit.cause)
      const { _tag } = error.reason
      if (_tag === "ShuttingDown" || _tag === "StoreUnavailable") return Effect.fail(error)
      if (!isElsewhere(_tag)) this.#refused.push({ sessionId, error })
      return Effect.succeed(true)
    })
  }

  #taken(sessionId: string): Effect.Effect<Started.Started | undefined, RunError.RunError> {
    const { agent, store, takeUp } = this.#options
    return Effect.flatMap(Left.judge(store, sessionId, agent), ({ seq, verdict }) => {
      if (verdict === "never") this.passed.set(sessionId, seq)
      const isSuspect = verdict === "takeUpAlone"
      if (verdict !== "takeUp" && !(isSuspect && !this.#hasSuspect)) return Effect.undefined
      this.#hasSuspect ||= isSuspect
      return takeUp(sessionId, seq)
    })
  }
}

/** Somebody was faster, to go on with it, or to end or remove it: the next look finds what they left. */
const isElsewhere = (reason: RunError.RunError["reason"]["_tag"]): boolean =>
  reason === "SessionBusy" || reason === "StaleWriter" || reason === "SessionNotFound" ||
  reason === "NothingToResume" ||
  reason === "AbortedBeforeStart"
