/**
 * Under which ids a run begins, and what is said to it elsewhere is sent: those that a caller gives, or new ones.
 *
 * Does not own what ids may be (`InputCheck`), nor how they are made (`Ids`).
 */
import * as Effect from "effect/Effect"
import * as InputCheck from "../../run/InputCheck.ts"
import * as RunError from "../../run/RunError.ts"
import type * as RunInput from "../../run/RunInput.ts"
import type * as Ids from "../../services/Ids.ts"

export interface Identity {
  readonly runId: string
  readonly sessionId: string
}

type Maker = typeof Ids.Ids.Service

/**
 * Ids that the application makes are checked like ids that are given. A request sent twice with only a run id is one run, so the
 * session id defaults to the run id. Untyped code may give no input at all, which `InputCheck` refuses.
 */
export const of = (input: RunInput.RunInput, ids: Maker): Effect.Effect<Identity, RunError.RunError> =>
  Effect.flatMapEager(
    given(input?.runId, ids),
    (runId) =>
      Effect.flatMapEager(given(input?.sessionId ?? input?.runId, ids), (sessionId) => checked(runId, sessionId))
  )

const given = (id: string | undefined, ids: Maker): Effect.Effect<string, RunError.RunError> =>
  id === undefined ? made(ids) : Effect.succeed(id)

/** Fails with `Unknown` where what makes ids breaks, or interrupts itself. */
const made = (ids: Maker): Effect.Effect<string, RunError.RunError> =>
  Effect.catchCause(ids.next, (cause) => Effect.fail(RunError.fromCause(cause)))

const checked = (runId: string, sessionId: string): Effect.Effect<Identity, RunError.RunError> => {
  const bad = InputCheck.badId("runId", runId, InputCheck.orNew) ??
    InputCheck.badId("sessionId", sessionId, InputCheck.orNew)
  return bad === undefined ? Effect.succeed({ runId, sessionId }) : Effect.fail(bad)
}

/** A new id for what is sent to a run, as a log can hold it. */
export const next = (ids: Maker): Effect.Effect<string, RunError.RunError> =>
  Effect.flatMap(made(ids), (id) => Effect.fromResult(InputCheck.id("id", id, "have Ids make one")))

/** The id of a session that is there already. */
export const ofSession = (sessionId: string): Effect.Effect<string, RunError.RunError> =>
  Effect.fromResult(InputCheck.id("sessionId", sessionId, "name the session"))
