/**
 * Several strategies as one: each is asked in turn, and the first whose result fits with room to spare is taken; where none
 * does, the one that leaves least. One that fails is passed over, and what it spent counts.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Transcript from "../run/Transcript.ts"
import * as Usage from "../run/Usage.ts"
import * as ContextManager from "../services/ContextManager.ts"

type Service = ContextManager.ContextManager["Service"]

/** Each is asked in turn until the result fits: what costs nothing goes first. */
export const make = (managers: ReadonlyArray<Service>): Service => ({
  models: managers.flatMap(({ models = [] }) => models),
  plan: (view) =>
    managers.map((manager) => manager.plan(view)).find((plan) => plan._tag === "Compact") ?? ContextManager.send,
  compact: Effect.fnUntraced(function*(request): Effect.fn.Return<
    ContextManager.Compaction,
    ContextManager.CompactionError
  > {
    // each is to do what it can, but for those that wait until somebody asks
    const view = { ...request, force: request.force ?? "overflow" as const }
    const before = Transcript.total(request.transcript, request.size.of).sum
    let best: { readonly compaction: ContextManager.Compaction; readonly left: number } | undefined
    let spent = Usage.zero
    let model: ContextManager.Compaction["model"]
    const words: Array<string> = []
    for (const manager of managers) {
      const plan = manager.plan(view)
      if (plan._tag === "Send") continue
      const result = yield* Effect.result(manager.compact({ ...plan.request, force: request.force }))
      const { usage = Usage.zero } = result._tag === "Success" ? result.success : result.failure
      model = (result._tag === "Success" ? result.success : result.failure).model ?? model
      spent = Usage.add(spent, usage)
      if (result._tag === "Failure") {
        words.push(result.failure.message)
        continue
      }
      const left = sizeAfter(request, result.success)
      if (left >= before) {
        words.push(`the strategy "${result.success.strategy}" made nothing smaller`)
        continue
      }
      if (best === undefined || left < best.left) best = { compaction: result.success, left }
      const { fixed, limit = Infinity } = request.size
      if (left + fixed <= limit * room) break
    }
    const asked = model === undefined ? {} : { model }
    if (best !== undefined) return { ...best.compaction, usage: spent, ...asked }
    const message = words.length === 0 ? "nothing can be left out" : words.join("; ")
    return yield* new ContextManager.CompactionError({ message, usage: spent, ...asked })
  })
})

/** The part of what may be sent that a result leaves to be one that fits: the next compaction is not to follow at once. */
const room = 0.7

/** Tokens of the messages that a compaction leaves. */
const sizeAfter = ({ size, transcript }: ContextManager.View, compaction: ContextManager.Compaction): number => {
  const change = { ...compaction, memory: compaction.memory ?? Transcript.memory(transcript) }
  return Transcript.total(Transcript.compact(transcript, change, Number.MAX_SAFE_INTEGER), size.of).sum
}

/**
 * `ContextChain.layer(ContextPruning.layer, ContextSummary.layer, ContextWindow.layer)`: what asks for a compaction is any of
 * them, what carries it out the first that can.
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
    Effect.map(
      Effect.forEach(layers, (each: AnyLayer) => Layer.build(each)),
      (built) => make(built.map((context) => Context.get(context, ContextManager.ContextManager)))
    )
  ) as never

type AnyLayer = Layer.Layer<ContextManager.ContextManager, unknown, unknown>
