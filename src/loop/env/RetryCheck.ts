/**
 * Whether a policy for failed model calls is one: untyped code may give the options of one, which would break at the first failure.
 *
 * Does not own its numbers, which `RetryPolicy.make` checks.
 */
import * as Result from "effect/Result"
import * as InputCheck from "../../run/InputCheck.ts"
import type * as RetryPolicy from "../../services/RetryPolicy.ts"

/** A policy as it may be used, those for single providers included. */
export const retry = (given: RetryPolicy.RetryPolicy): InputCheck.Checked<RetryPolicy.RetryPolicy> => {
  if (!isPolicy(given)) return refuse("retry")
  const wrong = Object.keys(given.providers).find((provider) => !isPolicy(given.providers[provider]))
  return wrong === undefined ? Result.succeed(given) : refuse(`retry.providers.${wrong}`)
}

const refuse = (field: string): InputCheck.Checked<never> =>
  InputCheck.refuse(field, `${field} must be a policy, as RetryPolicy.make returns it`)

const isPolicy = (given: Partial<RetryPolicy.RetryPolicy> | null | undefined): boolean =>
  typeof given?.classify === "function" && given.schedule !== undefined &&
  typeof given.providers === "object" && given.providers !== null
