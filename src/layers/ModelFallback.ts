/**
 * Several models as one: the first is asked, and when it fails for good, the next one takes over for the rest of the run. A
 * new run asks the first again.
 *
 * Does not own the switch; the loop makes it, and `ModelSwitched` is in the log before the next model is asked.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as InputCheck from "../run/InputCheck.ts"
import type * as RunError from "../run/RunError.ts"
import * as Delegating from "../services/Delegating.ts"
import * as Model from "../services/Model.ts"
import * as OptionCheck from "./options/OptionCheck.ts"

/** When the next model is asked. */
export interface Options {
  /** Whether a final failure of `model` is a reason to ask the next one. Default `isUnavailable`. */
  readonly when?: ((error: RunError.ModelError, model: Model.ModelInfo) => boolean) | undefined
}

/**
 * True for every failure except a content policy, where asking another model would be in vain or a way round the refusal, and a
 * context overflow, which never comes here: the conversation is compacted.
 */
export const isUnavailable = (error: RunError.ModelError): boolean =>
  error.reason._tag !== "ContentPolicy" && error.reason._tag !== "ContextOverflow"

type Layers = readonly [Layer.Layer<Model.Model, any, any>, ...ReadonlyArray<Layer.Layer<Model.Model, any, any>>]
type Service = Model.Model["Service"]

/** `model`, with `to` after the last of its own fallbacks. */
const followedBy = (model: Service, to: Service, when: NonNullable<Options["when"]>): Service =>
  Delegating.to(model, {
    fallback: model.fallback === undefined
      ? { to, when: (error) => when(error, model.info) }
      : Delegating.to(model.fallback, { to: followedBy(model.fallback.to, to, when) })
  })

const optionNames: Record<keyof Options, true> = { when: true }

/**
 * The models, in the order in which they are asked. A failure is final when it is not retryable, or when the tries at that
 * model are used up. Each model has the tries and the policy of its own provider. Reasoning of one is not sent to another.
 */
export const layer = <const Models extends Layers>(
  models: Models,
  options: Options = {}
): Layer.Layer<Model.Model, Layer.Error<Models[number]>, Layer.Services<Models[number]>> =>
  Layer.effect(
    Model.Model,
    Effect.suspend(() => {
      OptionCheck.options("ModelFallback", options, optionNames)
      OptionCheck.layers("ModelFallback", models, "Model")
      const { when = isUnavailable } = options
      OptionCheck.taken(InputCheck.callable("when", when))
      return Effect.map(
        Effect.forEach(models as Layers, (one) => Effect.map(Layer.build(one), Context.get(Model.Model))),
        (services) => services.reduceRight((to, model) => followedBy(model, to, when))
      )
    })
  )
