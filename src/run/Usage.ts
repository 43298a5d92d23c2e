/** Tokens and money spent, as a sum that can only grow. */
import * as Schema from "effect/Schema"

/**
 * Token counts: `inputTokens` includes cached ones, `outputTokens` includes reasoning. `cost` is in the unit of the
 * application's price table and absent where no price is known.
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

export const zero: Usage = { inputTokens: 0, outputTokens: 0 }

const optionalKeys = ["cachedInputTokens", "cacheWriteTokens", "reasoningTokens", "cost"] as const

/** The sum; a key that neither has is absent from it. */
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
 * As far as it is numbers of at least 0, which alone make a sum that can only grow, and that a log can hold: what else
 * somebody counted is 0, and absent where it may be.
 */
export const counted = (usage: Usage): Usage => {
  const { cacheWriteTokens, cachedInputTokens, cost, inputTokens, outputTokens, reasoningTokens } = usage
  // nearly every usage of every call, so without a copy
  if (
    isCount(inputTokens) && isCount(outputTokens) && isCount(cachedInputTokens ?? 0) &&
    isCount(cacheWriteTokens ?? 0) &&
    isCount(reasoningTokens ?? 0) && isCount(cost ?? 0)
  ) return usage
  const sane: { -readonly [K in keyof Usage]: Usage[K] } = {
    inputTokens: isCount(inputTokens) ? inputTokens : 0,
    outputTokens: isCount(outputTokens) ? outputTokens : 0
  }
  for (const key of optionalKeys) if (isCount(usage[key])) sane[key] = usage[key]
  return sane
}

const isCount = (value: number | undefined): value is number => Number.isFinite(value) && value! >= 0

/** What `maxTokens` counts. */
export const total = (usage: Usage): number => usage.inputTokens + usage.outputTokens
