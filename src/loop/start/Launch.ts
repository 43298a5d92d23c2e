/**
 * From what a caller gives to a drive under way: input is checked, ids are made, and the run to resume is found.
 *
 * Does not own the drive, nor in whose context it works; the front door does.
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
import * as Ids from "../../services/Ids.ts"
import * as Limits from "../../services/Limits.ts"
import type * as Runs from "../../services/Runs.ts"
import * as Timeouts from "../../services/Timeouts.ts"
import type * as Env from "../drive/Env.ts"
import * as Fold from "../log/Fold.ts"
import * as Brief from "../open/Brief.ts"
import * as Opening from "../open/Opening.ts"
import * as Deciding from "../round/Deciding.ts"
import * as CompactByHand from "./CompactByHand.ts"
import * as Start from "./Start.ts"

type Launched = Effect.Effect<Start.Started, RunError.RunError>

export interface Launch {
  /** Starts a run, or attaches to the one that this id and input made before. */
  readonly begin: (input: RunInput.RunInput, isWatched: boolean) => Launched
  /** Starts the next drive of a session's last run. */
  readonly proceed: (input: RunInput.ResumeInput) => Launched
  /** The questions of a session that wait. */
  readonly approvals: (sessionId: string) => Effect.Effect<ReadonlyArray<RunResult.Approval>, RunError.RunError>
  /** Answers one of them. */
  readonly decide: (decision: RunInput.DecideInput) => Effect.Effect<void, RunError.RunError>
  /** Makes the context of a session smaller that has no live run. */
  readonly compact: (sessionId: string) => Effect.Effect<RunResult.Compacted, RunError.RunError>
  /** Aborts what was started here and still lives, and awaits its end. */
  readonly shutdown: Effect.Effect<void>
}

export const make = (services: Env.Services, definition: Brief.Definition): Launch => {
  const track = new Set<Runs.LiveRun>()
  const pen = Semaphore.makeUnsafe(1)
  const closed = Deferred.makeUnsafe<never, RunError.RunError>()
  const tools = Object.keys(definition.handlers.tools)
  /** What is known before the input: what the agent says, then who calls it, then its layer. */
  const defaults = (given: RunPolicy.LimitsInput) =>
    Result.map(InputCheck.limits(given), (around): InputCheck.Defaults => ({
      limits: RunPolicy.merge({ ...RunPolicy.defaultLimits, ...around }, definition.limits),
      toolPolicy: definition.toolPolicy,
      tools
    }))

  // what is known at once is gone on with at once
  const begin = (input: RunInput.RunInput, isWatched: boolean): Launched =>
    Effect.withFiber((fiber) => {
      const ids = fiber.getRef(Ids.Ids)
      const known = defaults(fiber.getRef(Limits.Limits))
      const checked = Effect.fromResult(Result.flatMap(known, (_) => InputCheck.effective(input, _)))
      const request = (runId: string, sessionId: string) =>
        Effect.flatMapEager(checked, (effective) =>
          Effect.flatMapEager(Brief.make(definition, effective, fiber.getRef(Timeouts.Timeouts)), (brief) =>
            Start.start(services, {
              sessionId,
              runId,
              begin: { _tag: "Start", input: effective, create: input.createSession ?? true },
              brief,
              folded: Fold.nothing,
              isWatched,
              track
            })))
      return Effect.flatMapEager(idOf("runId", input.runId, ids), (runId) =>
        // the same request sent twice with a run id and nothing else is one run, so the session follows from it
        Effect.flatMapEager(
          idOf("sessionId", input.sessionId ?? input.runId, ids),
          (sessionId) =>
            request(runId, sessionId)
        ))
    })

  const proceed = Effect.fnUntraced(function*(
    input: RunInput.ResumeInput
  ): Effect.fn.Return<Start.Started, RunError.RunError> {
    const sessionId = yield* checkedId("sessionId", input.sessionId)
    const limits = input.limits === undefined ? undefined : yield* Effect.fromResult(InputCheck.limits(input.limits))
    const data = input.data === undefined ? undefined : yield* Effect.fromResult(InputCheck.json("data", input.data))
    const folded = yield* Effect.interruptible(
      Fold.fold(services.store, sessionId, Fold.nothing)
    )
    const { state } = folded
    const runId = input.runId ?? state.runId
    if (runId === undefined || state.input === undefined) {
      return yield* Opening.nothingToResume(sessionId, input.runId, state)
    }
    return yield* Start.start(services, {
      sessionId,
      runId,
      begin: { _tag: "Resume", limits, data },
      // tools and policy are the run's, as far as the agent still allows them
      brief: yield* Brief.make(definition, {
        ...state.input,
        toolPolicy: RunPolicy.narrow(definition.toolPolicy, state.input.toolPolicy)
      }, yield* Timeouts.Timeouts),
      folded,
      isWatched: true,
      track
    })
  })

  return {
    begin,
    proceed,
    approvals: (sessionId) =>
      Effect.flatMap(checkedId("sessionId", sessionId), () => Deciding.waiting(services.store, sessionId)),
    decide: (decision) =>
      Effect.flatMap(
        checkedId("sessionId", decision.sessionId),
        () => Deciding.decide(services, definition, pen, decision)
      ),
    compact: (sessionId) =>
      Effect.flatMap(
        checkedId("sessionId", sessionId),
        () => Effect.raceFirst(CompactByHand.compact(services, definition, sessionId), Deferred.await(closed))
      ),
    shutdown: Effect.suspend(() => {
      Deferred.doneUnsafe(closed, Effect.fail(RunError.shuttingDown))
      return Effect.forEach(track, (run) => run.abort("shutdown"), { concurrency: "unbounded", discard: true })
    })
  }
}

const checkedId = (field: string, value: string) => Effect.fromResult(InputCheck.id(field, value))

/** What is given, or the next one; those are the application's too, and checked. */
const idOf = (field: string, given: string | undefined, ids: typeof Ids.Ids.Service) =>
  given === undefined
    ? Effect.flatMap(ids.next, (id) => checkedId(field, id))
    : checkedId(field, given)
