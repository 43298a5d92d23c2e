/**
 * What tokens cost: a setting, read by the loop at every drive. By default no price is known, and nothing has a cost.
 */
import * as Context from "effect/Context"
import * as InputCheck from "../run/InputCheck.ts"
import * as Message from "../run/Message.ts"
import type * as Usage from "../run/Usage.ts"

/**
 * Per million tokens, in the application's unit of money; not below 0. Tokens that a provider read from its cache, or
 * wrote to it, cost as `input` unless said otherwise.
 */
export interface Price {
  readonly input: number
  readonly output: number
  readonly cachedInput?: number
  readonly cacheWrite?: number
}

/**
 * The price of a model, `undefined` if it is not known. A model must have the same price throughout a drive. If this throws, no price is
 * known.
 */
export type Prices = (model: Message.ModelRef) => Price | undefined

/** Default: no price is known. A run with a cost limit is refused when one of its models has no price. */
export const Prices = Context.Reference<Prices>("fiberloop/services/Prices", { defaultValue: () => () => undefined })

/**
 * Prices by `provider/name` as the log has them, such as `anthropic.messages/claude-sonnet-4-5`, or by the name alone, for every
 * provider that has no price of its own for it. Throws a `RangeError` when a price is not numbers of at least 0; it may have more fields,
 * as those of a price list have.
 */
export const table = (prices: Readonly<Record<string, Price>>): Prices => {
  InputCheck.taken("fiberloop", InputCheck.fields("prices", prices ?? null, "an object: prices by model"))
  const known = new Map(Object.entries(prices))
  for (const [model, price] of known) {
    const of = `the price of "${model}"`
    InputCheck.taken("fiberloop", InputCheck.fields(of, price ?? null, "an object, such as { input: 3, output: 15 }"))
    if (!isPrice(price)) throw new RangeError(`fiberloop: ${of} must be numbers of at least 0`)
  }
  return (model) => known.get(Message.modelName(model)) ?? known.get(model.name)
}

const isPrice = ({ cacheWrite, cachedInput, input, output }: Price): boolean =>
  [input, output, cachedInput ?? input, cacheWrite ?? input].every((price) => Number.isFinite(price) && price >= 0)

/** The price of `model`. It is not known if `prices` throws or returns an invalid one: the answer that was paid for is kept all the same. */
export const find = (prices: Prices, model: Message.ModelRef): Price | undefined => {
  try {
    const price = prices(model)
    return price !== undefined && isPrice(price) ? price : undefined
  } catch {
    return undefined
  }
}

/** `usage` with what it cost; unchanged if the price is not known. */
export const costed = (prices: Prices, model: Message.ModelRef, usage: Usage.Usage): Usage.Usage => {
  const price = find(prices, model)
  if (price === undefined) return usage
  const { cacheWriteTokens: written = 0, cachedInputTokens: cached = 0, inputTokens, outputTokens } = usage
  const { cacheWrite = price.input, cachedInput = price.input, input, output } = price
  const fresh = Math.max(0, inputTokens - cached - written)
  const cost = fresh * input + cached * cachedInput + written * cacheWrite + outputTokens * output
  return { ...usage, cost: cost / 1_000_000 }
}
