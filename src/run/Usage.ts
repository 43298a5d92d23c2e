/** Tokens and money spent, as a sum that can only grow. */
import * as Schema from "effect/Schema"

/**
 * Token counts: `inputTokens` includes cached ones, `outputTokens` includes reasoning. `cost` is in the unit of the
 * application's price table and absent if it is not known.
 */
export const Usage = Schema.Struct({
  inputTokens: Schema.Finite,
  outputTokens: Schema.Finite,
  cachedInputTokens: Schema.optionalKey(Schema.Finite),
  cacheWriteTokens: Schema.optionalKey(Schema.Finite),
  reasoningTokens: Schema.optionalKey(Schema.Finite),
  cost: Schema.optional(Schema.Finite)
})
export type Usage = typeof Usage.Type

/** Nothing, which costs nothing. */
export const zero: Usage = { inputTokens: 0, outputTokens: 0 }

const optionalKeys = ["cachedInputTokens", "cacheWriteTokens", "reasoningTokens", "cost"] as const

/** The sum; a key that neither has is absent. */
export const add = (a: Usage, b: Usage): Usage => {
  const sum: { -readonly [K in keyof Usage]: Usage[K] } = {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens
  }
  for (const key of optionalKeys) {
    if (a[key] !== undefined || b[key] !== undefined) sum[key] = (a[key] ?? 0) + (b[key] ?? 0)
  }
  return sum
}

/**
 * Keeps only valid counts, so that sums can only grow and a log can hold them: a value that is not a number, below 0, or too
 * large to count becomes 0, or absent where that is allowed. Returns the same object if all are valid.
 */
export const counted = (told: Usage): Usage => {
  // a model or a strategy may be untyped code
  const given: Partial<Usage> = told ?? {}
  const { cacheWriteTokens, cachedInputTokens, cost, inputTokens, outputTokens, reasoningTokens } = given
  if (
    isCount(inputTokens) && isCount(outputTokens) && mayStand(cachedInputTokens) && mayStand(cacheWriteTokens) &&
    mayStand(reasoningTokens) && mayStand(cost)
  ) return told
  const usage: { -readonly [K in keyof Usage]: Usage[K] } = {
    inputTokens: isCount(inputTokens) ? inputTokens : 0,
    outputTokens: isCount(outputTokens) ? outputTokens : 0
  }
  for (const key of optionalKeys) if (isCount(given[key])) usage[key] = given[key]
  return usage
}

const mayStand = (value: unknown): boolean => value === undefined || isCount(value)

const isCount = (value: unknown): value is number =>
  typeof value === "number" && value >= 0 && value <= Number.MAX_SAFE_INTEGER

/** No tokens and no cost: something that is not counted in tokens may still have a cost. */
export const isNothing = (usage: Usage): boolean => total(usage) === 0 && (usage.cost ?? 0) === 0

/** What `maxTokens` counts. */
export const total = (usage: Usage): number => usage.inputTokens + usage.outputTokens
