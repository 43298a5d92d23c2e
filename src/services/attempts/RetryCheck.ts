/**
 * Whether a policy for failed model calls is one: untyped code may give the options of one, which would break at the first failure.
 *
 * Does not own its numbers, which `RetryPolicy.make` checks.
 */
import * as Result from "effect/Result"
import * as InputCheck from "../../run/InputCheck.ts"
import type * as RetryPolicy from "../RetryPolicy.ts"

/** A policy as it may be used, those for single providers included. */
export const retry = (given: RetryPolicy.RetryPolicy): InputCheck.Checked<RetryPolicy.RetryPolicy> =>
  isPolicy(given)
    ? Result.map(providers("retry.providers", given.providers), () => given)
    : refuse("retry")

/** Policies for single providers, as they may be used. */
export const providers = (
  field: string,
  given: RetryPolicy.RetryPolicy["providers"]
): InputCheck.Checked<RetryPolicy.RetryPolicy["providers"]> => {
  if (typeof given !== "object" || Array.isArray(given)) {
    return InputCheck.refuse(field, `${field} must be an object: policies by provider`)
  }
  const wrong = Object.keys(given).find((provider) => !isPolicy(given[provider]))
  return wrong === undefined ? Result.succeed(given) : refuse(`${field}.${wrong}`)
}

const refuse = (field: string): InputCheck.Checked<never> =>
  InputCheck.refuse(field, `${field} must be a policy, as RetryPolicy.make returns it`)

const isPolicy = (given: Partial<RetryPolicy.RetryPolicy> | null | undefined): boolean =>
  typeof given?.classify === "function" && given.schedule !== undefined &&
  typeof given.providers === "object" && given.providers !== null
