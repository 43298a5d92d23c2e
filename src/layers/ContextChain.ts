/**
 * Several strategies as one. Asks each in turn and takes the first result that fits with room to spare; where none does, the
 * one that leaves least. Passes over a strategy that fails, breaks, takes too long or returns no legal compaction; the log says why,
 * and what it spent counts.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as InputCheck from "../run/InputCheck.ts"
import * as Transcript from "../run/Transcript.ts"
import * as Usage from "../run/Usage.ts"
import * as CompactionLaws from "../services/CompactionLaws.ts"
import * as ContextManager from "../services/ContextManager.ts"
import * as StrategyFault from "../services/StrategyFault.ts"
import * as OptionCheck from "./options/OptionCheck.ts"

type Service = ContextManager.ContextManager["Service"]

/** As warnings and the log name one of them. */
const who = "a strategy"

/**
 * Asks each in turn until a result fits, so put the ones that cost nothing first. Throws a `RangeError` for none, and for what is no
 * strategy.
 */
export const make = (managers: ReadonlyArray<Service>): Service => {
  OptionCheck.taken(strategies(managers))
  return chained(managers)
}

/** Untyped code may pass anything. */
const strategies = (given: ReadonlyArray<Service>): InputCheck.Checked<unknown> =>
  Array.isArray(given) && given.length > 0 && given.every(isStrategy)
    ? Result.succeed(given)
    : InputCheck.refuse(
      "strategies",
      "strategies of ContextChain must be a list of one or more that make a context smaller, as ContextWindow.make returns them"
    )

const isStrategy = (given: Service | null | undefined): boolean =>
  typeof given?.plan === "function" && typeof given.compact === "function"

const chained = (managers: ReadonlyArray<Service>): Service => ({
  models: managers.flatMap(({ models = [] }) => models),
  keepsTime: true,
  plan: (view) => {
    let broken: Service | undefined
    for (const manager of managers) {
      const plan = StrategyFault.planned(manager, view)
      if (plan._tag === "Compact") return plan
      if (plan._tag === "Broken") broken ??= manager
    }
    // no other takes its place: it breaks before those who can warn of it
    return broken === undefined ? ContextManager.send : broken.plan(view)
  },
  compact: Effect.fnUntraced(function*(request): Effect.fn.Return<
    ContextManager.Compaction,
    ContextManager.CompactionError
  > {
    // each does what it can, except those that wait to be asked
    const view = { ...request, force: request.force ?? "overflow" as const }
    let best: Carried | undefined
    const passedOver: Array<string> = []
    for (const manager of managers) {
      const plan = yield* StrategyFault.plan(who, manager, view)
      if (plan === undefined) passedOver.push(StrategyFault.unexpectedly(who))
      if (plan?._tag !== "Compact") continue
      const result = yield* Effect.result(carryOut(manager, { ...plan.request, force: request.force }, request))
      const told = result._tag === "Success" ? result.success.compaction : result.failure
      // each at the price of its own model, and before the next one asks whether it may spend
      request.ledger.note(told.usage ?? Usage.zero, told.model)
      if (result._tag === "Failure") {
        passedOver.push(result.failure.message)
        continue
      }
      const { compaction, left } = result.success
      passedOver.push(...compaction.passedOver ?? [])
      if (fits(request, result.success)) return { ...compaction, usage: Usage.zero, passedOver }
      if (best === undefined || left < best.left) best = result.success
    }
    if (best !== undefined) return { ...best.compaction, usage: Usage.zero, passedOver }
    const message = passedOver.length === 0 ? "nothing can be left out" : passedOver.join("; ")
    return yield* new ContextManager.CompactionError({ message })
  })
})

/** A result fits when it leaves at most this share of the limit, so that the next compaction does not follow at once. */
const room = 0.7

interface Carried {
  readonly compaction: ContextManager.Compaction
  /** tokens of the whole context's messages that remain, and how many messages those are */
  readonly left: number
  readonly messages: number
}

/** Where there were too many messages, a result with just as many does not fit, however short they are. */
const fits = (request: ContextManager.Request, { left, messages }: Carried): boolean => {
  const { size: { fixed, limit = Infinity }, transcript } = request
  const isNumberTooMuch = ContextManager.causeOf(request) === "messages"
  return left + fixed <= limit * room && !(isNumberTooMuch && messages >= Transcript.size(transcript))
}

const contained = ({ keepsTime }: Service, self: ReturnType<Service["compact"]>): typeof self =>
  keepsTime === true ? StrategyFault.contained(who, self) : StrategyFault.within(who, self)

/** What a strategy returns in time, provided that it breaks no law. */
const carryOut = (
  manager: Service,
  asked: ContextManager.Request,
  whole: ContextManager.View
): Effect.Effect<Carried, ContextManager.CompactionError> =>
  Effect.flatMap(
    contained(manager, StrategyFault.asked(manager, asked)),
    (compaction) =>
      Effect.fromResult(Result.map(
        CompactionLaws.carry(whole, compaction, Number.MAX_SAFE_INTEGER),
        ({ after, tokens }): Carried => ({ compaction, left: tokens.after, messages: Transcript.size(after) })
      ))
  )

/**
 * `ContextChain.layer(ContextPruning.layer, ContextSummary.layer, ContextWindow.layer)`: any of them can ask for a compaction,
 * and the first that can carry it out does. Anything else than layers, one after the other, is a defect when it is built.
 */
export const layer = <const Layers extends readonly [AnyLayer, ...ReadonlyArray<AnyLayer>]>(
  ...layers: Layers
): Layer.Layer<
  ContextManager.ContextManager,
  Layer.Error<Layers[number]>,
  Layer.Services<Layers[number]>
> =>
  Layer.effect(
    ContextManager.ContextManager,
    Effect.suspend(() => {
      OptionCheck.layers("ContextChain.layer", layers, "ContextManager")
      return Effect.map(
        Effect.forEach(layers, (each: AnyLayer) => Layer.build(each)),
        (built) => make(built.map((context) => Context.get(context, ContextManager.ContextManager)))
      )
    })
  ) as never

type AnyLayer = Layer.Layer<ContextManager.ContextManager, unknown, unknown>
