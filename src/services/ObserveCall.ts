/**
 * How a model call made by a strategy is observed: with the same span and metrics as the calls of a turn.
 *
 * Does not own what these say; the loop does.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as AttemptResult from "../run/AttemptResult.ts"
import type * as Message from "../run/Message.ts"
import type * as Model from "./Model.ts"

/** Makes the call and shows its result to whoever observes; a call that is interrupted has no metrics. */
export type ObserveCall = <Result extends AttemptResult.AttemptResult>(
  model: Message.ModelRef,
  request: Model.ModelRequest,
  call: Effect.Effect<Result>
) => Effect.Effect<Result>

/** The loop provides it to every strategy, for each try at a model. Default: nobody observes. */
export const ObserveCall = Context.Reference<ObserveCall>("fiberloop/services/ObserveCall", {
  defaultValue: () => (_model, _request, call) => call
})
