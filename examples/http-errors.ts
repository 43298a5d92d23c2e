/**
 * How a backend responds when a run fails, for every error there is: the types make the table complete. The two tags say
 * whether the caller may try again unchanged; the status says who has to change what. Used by `http-server.ts`.
 */
import { Duration } from "effect"
import { HttpServerResponse } from "effect/http"
import type { RunError } from "fiberloop"

const status: Record<RunError.RunReason["_tag"] | RunError.RunRefusal["_tag"], number> = {
  // the caller has to change it
  InvalidInput: 400,
  SessionNotFound: 404,
  EventTooLarge: 413,
  ContextOverflow: 413,
  ContentPolicy: 422,
  // the session's state does not allow it
  SessionBusy: 409,
  ApprovalNotOpen: 409,
  RunConflict: 409,
  NothingToResume: 409,
  AbortedBeforeStart: 409,
  StaleWriter: 409,
  // trying again at once is of no use
  RetriesExhausted: 503,
  StoreUnavailable: 503,
  ShuttingDown: 503,
  // we have to change it: the key, the bill, the request, the agent
  Authentication: 502,
  QuotaExhausted: 502,
  InvalidRequest: 502,
  Unknown: 502,
  InvalidOutput: 502,
  ToolFailed: 500,
  HookBlocked: 500,
  CompactionFailed: 500,
  StoreRefused: 500
}

export const toResponse = (error: RunError.RunError): HttpServerResponse.HttpServerResponse => {
  const { _tag, message } = error.reason
  const wait = error._tag === "RetryableError" ? error.retryAfter : undefined
  return HttpServerResponse.jsonUnsafe({ error: _tag, message, isRetryable: error._tag === "RetryableError" }, {
    status: status[_tag],
    headers: wait === undefined ? {} : { "retry-after": String(Math.ceil(Duration.toSeconds(wait))) }
  })
}
