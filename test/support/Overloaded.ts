/** A provider that is overloaded: the failure that is tried again. */
import * as RunError from "../../src/run/RunError.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"

/** `retryAfter` in milliseconds, where the provider says so. */
export const error = (retryAfter?: number) =>
  new RunError.RetryableError<RunError.ProviderReason>({
    _tag: "Overloaded",
    message: "busy",
    ...(retryAfter === undefined ? {} : { retryAfter })
  })

/** A scripted model that fails so. */
export const fail = (retryAfter?: number) => ScriptedModel.fail(error(retryAfter))
