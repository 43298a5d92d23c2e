/**
 * A model takes over from one that failed, for the rest of the run: what hooks leave for it to be asked, and whether that fits its
 * window.
 *
 * Does not own when that happens (`Tries`), nor which model a run asks now (`CurrentModel`).
 */
import type * as Effect from "effect/Effect"
import type * as Message from "../../run/Message.ts"
import type * as RunError from "../../run/RunError.ts"
import type * as ContextManager from "../../services/ContextManager.ts"
import * as Model from "../../services/Model.ts"
import type * as Env from "../env/Env.ts"
import * as Fitting from "./Fitting.ts"
import * as ModelHooks from "./ModelHooks.ts"
import * as TurnStart from "./TurnStart.ts"

type Service = Model.Model["Service"]

type Taken =
  /** `env` has what hooks leave of the turn's offer; `messages` are those that they made */
  | { readonly _tag: "Asked"; readonly env: Env.Env; readonly messages: ReadonlyArray<Message.Message> | undefined }
  /** its window is too small */
  | { readonly _tag: "Compact"; readonly request: ContextManager.Request }

export const takeOver = function*(
  env: Env.Env,
  from: Service,
  to: Service
): Effect.fn.Return<Taken, RunError.RunError> {
  const { journal } = env
  journal.record({
    _tag: "ModelSwitched",
    turn: journal.state.turn,
    from: Model.refOf(from.info),
    to: Model.refOf(to.info)
  })
  journal.move("modelSwitched")
  yield* journal.commit
  const prompt = env.hooks.at.beforeModelCall.length > 0
    ? yield* ModelHooks.before(env, journal.transcript)
    : undefined
  const isCut = prompt !== undefined && prompt.offer.tools.length < env.tools.length
  const turn: Env.Env = isCut ? { ...env, ...prompt.offer } : env
  if (isCut) {
    // the tools are left out of the turn, also for a drive that takes it up
    TurnStart.again(turn, to)
    yield* journal.commit
  }
  const request = yield* Fitting.tooMuch(turn, prompt?.messages)
  return request === undefined
    ? { _tag: "Asked", env: turn, messages: prompt?.messages }
    : { _tag: "Compact", request }
}
