/** A provider that is overloaded: the failure that is retried. */
import * as RunError from "../../src/run/RunError.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"

/** `retryAfter` in milliseconds, if the provider gives one. */
export const error = (retryAfter?: number) =>
  new RunError.RetryableError<RunError.ProviderReason>({
    _tag: "Overloaded",
    message: "busy",
    ...(retryAfter === undefined ? {} : { retryAfter })
  })

/** A scripted model that fails this way. */
export const fail = (retryAfter?: number) => ScriptedModel.fail(error(retryAfter))
