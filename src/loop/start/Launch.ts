/**
 * What a caller may ask of an agent's sessions, up to a drive under way: input is checked, ids are made, and the run to resume is
 * found.
 *
 * Does not own the drive, what is done to a session that none has (`Deciding`, `CompactByHand`), nor in whose context any of it
 * works; the front door does.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Semaphore from "effect/Semaphore"
import * as InputCheck from "../../run/InputCheck.ts"
import * as RunError from "../../run/RunError.ts"
import type * as RunInput from "../../run/RunInput.ts"
import * as RunPolicy from "../../run/RunPolicy.ts"
import type * as RunResult from "../../run/RunResult.ts"
import type * as Ids from "../../services/Ids.ts"
import type * as Runs from "../../services/Runs.ts"
import type * as Definition from "../env/Definition.ts"
import type * as DriveRequest from "../env/DriveRequest.ts"
import type * as Env from "../env/Env.ts"
import * as Settings from "../env/Settings.ts"
import * as Fold from "../log/Fold.ts"
import * as Brief from "../open/Brief.ts"
import * as Opening from "../open/Opening.ts"
import * as CompactByHand from "./CompactByHand.ts"
import * as Deciding from "./Deciding.ts"
import * as Start from "./Start.ts"
import type * as Started from "./Started.ts"
import type * as Visit from "./Visit.ts"

export interface Launch {
  /** Starts a run, or attaches to the one that this id and input made before. */
  readonly start: (input: RunInput.RunInput, isWatched: boolean) => Started.Starting
  /** Starts the next drive of a session's last run. */
  readonly resume: (input: RunInput.ResumeInput) => Started.Starting
  /** The questions of a session that wait. */
  readonly approvals: (sessionId: string) => Effect.Effect<ReadonlyArray<RunResult.Approval>, RunError.RunError>
  /** Answers one of them. */
  readonly decide: (decision: RunInput.DecideInput) => Effect.Effect<void, RunError.RunError>
  /** Makes the context of a session smaller that has no live run. */
  readonly compact: (sessionId: string) => Effect.Effect<RunResult.Compacted, RunError.RunError>
  /** Aborts what was started here and still lives, and awaits its end. */
  readonly shutdown: Effect.Effect<void>
}

export const make = (services: Env.Services, definition: Definition.Definition): Launch => {
  Brief.warmUp(definition)
  const track = new Set<Runs.LiveRun>()
  const drive = (request: DriveRequest.DriveRequest) => Start.start(services, request, track)
  const pen = Semaphore.makeUnsafe(1)
  const closed = Deferred.makeUnsafe<never, RunError.RunError>()
  const tools = Object.keys(definition.handlers.tools)
  const toolPolicy = RunPolicy.narrow(definition.toolPolicy, {})
  const shared = Settings.shared(definition)

  // what is known at once is gone on with at once
  const start = (input: RunInput.RunInput, isWatched: boolean): Started.Starting =>
    Effect.flatMap(
      shared,
      (settings) =>
        Effect.flatMapEager(identified(input, settings.ids), (ids) => launch(input, isWatched, settings, ids))
    )

  const launch = (
    input: RunInput.RunInput,
    isWatched: boolean,
    settings: Settings.Settings,
    { runId, sessionId }: Identity
  ): Started.Starting => {
    const { limits, timeouts } = settings
    // what the application makes is checked like what is given
    const badId = InputCheck.badId("runId", runId) ?? InputCheck.badId("sessionId", sessionId)
    if (badId !== undefined) return Effect.fail(badId)
    const checked = Result.flatMap(limits, (limits) => InputCheck.effective(input, { limits, toolPolicy, tools }))
    if (Result.isFailure(checked)) return Effect.fail(checked.failure)
    if (Result.isFailure(timeouts)) return Effect.fail(timeouts.failure)
    const effective = checked.success
    const begin: DriveRequest.Begin = { _tag: "Start", input: effective, create: input.createSession ?? true }
    return Effect.flatMapEager(
      Brief.make(definition, effective, timeouts.success),
      (brief) => drive({ sessionId, runId, begin, brief, settings, folded: Fold.nothing, isWatched })
    )
  }

  const resume = Effect.fnUntraced(function*(
    input: RunInput.ResumeInput
  ): Effect.fn.Return<Started.Started, RunError.RunError> {
    const sessionId = yield* checkedId(input.sessionId)
    const noText = input.runId === undefined ? undefined : InputCheck.badText({ runId: input.runId })
    if (noText !== undefined) return yield* noText
    const limits = input.limits === undefined ? undefined : yield* Effect.fromResult(InputCheck.limits(input.limits))
    const data = input.data === undefined ? undefined : yield* Effect.fromResult(InputCheck.json("data", input.data))
    const folded = yield* Effect.interruptible(Fold.fold(services.store, sessionId, Fold.nothing))
    const { state } = folded
    const runId = input.runId ?? state.runId
    if (runId === undefined || state.input === undefined) {
      return yield* Opening.nothingToResume(sessionId, input.runId, state)
    }
    const settings = yield* shared
    return yield* drive({
      sessionId,
      runId,
      begin: { _tag: "Resume", limits, data },
      brief: yield* Brief.ofLog(definition, state.input, yield* Effect.fromResult(settings.timeouts)),
      settings,
      folded,
      isWatched: true
    })
  })

  const visit = <A>(
    sessionId: string,
    use: (visitor: Visit.Visitor) => Effect.Effect<A, RunError.RunError>
  ): Effect.Effect<A, RunError.RunError> =>
    Effect.andThen(
      checkedId(sessionId),
      Effect.flatMap(shared, (settings) => use({ services, definition, settings }))
    )

  return {
    start,
    resume,
    approvals: (sessionId) => Effect.flatMap(checkedId(sessionId), () => Deciding.waiting(services.store, sessionId)),
    decide: (decision) => visit(decision.sessionId, (visitor) => Deciding.decide(visitor, pen, decision)),
    compact: (sessionId) =>
      visit(
        sessionId,
        (visitor) => Effect.raceFirst(CompactByHand.compact(visitor, sessionId), Deferred.await(closed))
      ),
    shutdown: Effect.suspend(() => {
      Deferred.doneUnsafe(closed, Effect.fail(RunError.shuttingDown))
      return Effect.forEach(track, (run) => run.abort("shutdown"), { concurrency: "unbounded", discard: true })
    })
  }
}

const checkedId = (sessionId: string) => {
  const badId = InputCheck.badId("sessionId", sessionId)
  return badId === undefined ? Effect.succeed(sessionId) : Effect.fail(badId)
}

interface Identity {
  readonly runId: string
  readonly sessionId: string
}

/**
 * The ids that an input gives, or new ones. The same request sent twice with a run id and nothing else is one run, so the
 * session follows from it.
 */
const identified = (input: RunInput.RunInput, ids: typeof Ids.Ids.Service): Effect.Effect<Identity> =>
  Effect.flatMapEager(
    given(input.runId, ids),
    (runId) => Effect.mapEager(given(input.sessionId ?? input.runId, ids), (sessionId) => ({ runId, sessionId }))
  )

const given = (id: string | undefined, ids: typeof Ids.Ids.Service): Effect.Effect<string> =>
  id === undefined ? ids.next : Effect.succeed(id)
