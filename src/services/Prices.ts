/**
 * What tokens cost: a setting, read by the loop at every drive. By default no price is known, and nothing has a cost.
 */
import * as Context from "effect/Context"
import * as Message from "../run/Message.ts"
import type * as Usage from "../run/Usage.ts"

/**
 * Of a million tokens each, in the application's unit of money; no number below 0. Tokens that a provider read from its
 * cache, or wrote to it, cost as `input` where nothing else is said.
 */
export interface Price {
  readonly input: number
  readonly output: number
  readonly cachedInput?: number
  readonly cacheWrite?: number
}

/**
 * The price of a model, `undefined` where it is not known. The same model has the same price for as long as a drive goes. Where this
 * throws, no price is known.
 */
export type Prices = (model: Message.ModelRef) => Price | undefined

/** Default: no price is known. A run with a limit of cost is refused where one of its models has none. */
export const Prices = Context.Reference<Prices>("fiberloop/services/Prices", { defaultValue: () => () => undefined })

/**
 * Prices by `provider/name` as the log has them, such as `anthropic.messages/claude-sonnet-4-5`, or by the name alone, for every
 * provider that has no price of its own for it. Throws where a price is no number of at least 0.
 */
export const table = (prices: Readonly<Record<string, Price>>): Prices => {
  const known = new Map(Object.entries(prices))
  for (const [model, price] of known) {
    if (!isPrice(price)) throw new Error(`fiberloop: the price of "${model}" must be numbers of at least 0`)
  }
  return (model) => known.get(Message.modelName(model)) ?? known.get(model.name)
}

const isPrice = ({ cacheWrite, cachedInput, input, output }: Price): boolean =>
  [input, output, cachedInput ?? input, cacheWrite ?? input].every((price) => Number.isFinite(price) && price >= 0)

/** The price of `model`, which is not known where `prices` throws or returns none: an answer that was paid for is kept all the same. */
export const find = (prices: Prices, model: Message.ModelRef): Price | undefined => {
  try {
    const price = prices(model)
    return price !== undefined && isPrice(price) ? price : undefined
  } catch {
    return undefined
  }
}

/** `usage` with what it cost; as it is where the price is not known. */
export const costed = (prices: Prices, model: Message.ModelRef, usage: Usage.Usage): Usage.Usage => {
  const price = find(prices, model)
  if (price === undefined) return usage
  const { cacheWriteTokens: written = 0, cachedInputTokens: cached = 0, inputTokens, outputTokens } = usage
  const { cacheWrite = price.input, cachedInput = price.input, input, output } = price
  const fresh = Math.max(0, inputTokens - cached - written)
  const cost = fresh * input + cached * cachedInput + written * cacheWrite + outputTokens * output
  return { ...usage, cost: cost / 1_000_000 }
}
