/**
 * Whether what is to be sent fits its model, and what follows where it does not: the context is made smaller, or the run ends as
 * the reason for that says.
 *
 * Does not own what is too much (`ContextManager`), nor a compaction (`Compacting`).
 */
import type * as Effect from "effect/Effect"
import type * as Message from "../../run/Message.ts"
import * as RunError from "../../run/RunError.ts"
import type * as ContextManager from "../../services/ContextManager.ts"
import * as StrategyFault from "../../services/StrategyFault.ts"
import type * as Env from "../env/Env.ts"
import * as Compacting from "./Compacting.ts"
import * as Ended from "./Ended.ts"
import * as Sizing from "./Sizing.ts"

/** How the run ends; undefined where the context was made smaller, and is looked at again. */
type Steps = Effect.fn.Return<Ended.Limited | undefined, RunError.RunError>

/** The compaction that is needed before a model is asked, if any; `messages` are those that hooks made. */
export const tooMuch = (
  env: Env.Env,
  messages?: ReadonlyArray<Message.Message>
): Effect.fn.Return<ContextManager.Request | undefined> => planned(env, Sizing.view(env, undefined, messages))

/** A strategy that breaks plans nothing. */
const planned = function*(
  { context }: Env.Env,
  view: ContextManager.View
): Effect.fn.Return<ContextManager.Request | undefined> {
  const plan = yield* StrategyFault.plan(Compacting.who, context, view)
  return plan?._tag === "Compact" ? plan.request : undefined
}

/** What is to be sent is too much: for the model of a turn that begins, or for one that took over in it. */
export const makeRoom = function*(
  env: Env.Env,
  request: ContextManager.Request,
  when: "contextMustShrink" | "contextOverflow"
): Steps {
  env.journal.move(when)
  return yield* Compacting.compact(env, request)
}

/** After a call that was too much for its model; the run fails with `error` where nothing can be made smaller. */
export const afterOverflow = function*(
  env: Env.Env,
  error: RunError.RunError,
  messages?: ReadonlyArray<Message.Message>
): Steps {
  const view = Sizing.view(env, "overflow", messages)
  const request = yield* planned(env, view)
  const explained = explain(error, view)
  if (request === undefined) {
    env.journal.move("modelFailed")
    return yield* explained
  }
  env.journal.move("contextOverflow")
  return yield* Compacting.compact(env, request, explained)
}

/** Says what takes the room, where the model's window is known. */
const explain = (error: RunError.RunError, { model, size }: ContextManager.View): RunError.RunError => {
  const { reason } = error
  if (reason._tag !== "ContextOverflow" || model.contextWindow === undefined) return error
  const [all, fixed] = [Math.ceil(size.tokens), Math.ceil(size.fixed)]
  return new RunError.NonRetryableError<RunError.RunRefusal>({
    ...reason,
    message:
      `${reason.message}; about ${all} tokens had to be sent, ${fixed} of them instructions and tools, to a model ` +
      `with a window of ${model.contextWindow}`
  })
}

/** After an answer that was cut at the output limit. */
export const afterLength = function*(
  env: Env.Env
): Steps {
  const request = yield* planned(env, Sizing.view(env, "length"))
  if (request === undefined) return Ended.limited({ reason: "length" })
  env.journal.move("compactFirst")
  return yield* Compacting.compact(env, request)
}
