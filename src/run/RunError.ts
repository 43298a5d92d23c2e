/**
 * The errors a caller can act on, under two tags: `RetryableError` (trying again later may help) and
 * `NonRetryableError` (it will not). Each carries a tagged `reason`, so that `Effect.catchReason` works.
 *
 * The same two tags are used from the provider to the caller. The loop retries a model's reasons, so a bare provider
 * reason is never retryable in a run's type: it comes out as `RetriesExhausted`. Does not own the reasons; those are in
 * `ErrorReason`.
 */
import * as Cause from "effect/Cause"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Schema from "effect/Schema"
import { type EventTooLarge, type ProviderReason, type ProviderRefusal, RunReason, RunRefusal } from "./ErrorReason.ts"
import * as Foreign from "./Foreign.ts"
import * as Bounds from "./log/Bounds.ts"

export * from "./ErrorReason.ts"

/** What every reason has, including those of custom models and stores. */
interface Reason {
  readonly _tag: string
  readonly message: string
  readonly status?: number
  readonly retryAfter?: number
  readonly last?: { readonly retryAfter?: number }
}

/**
 * A reason that can be stored, whatever a provider or a defect says: a `status` that is no number and a `retryAfter` that is no time are
 * dropped.
 */
const bounded = <R extends Reason>(reason: R): R => {
  const message = Bounds.message(reason.message)
  const { retryAfter, status, ...rest } = reason
  const isStatus = status === undefined || Number.isFinite(status)
  const isTime = retryAfter === undefined || (Number.isFinite(retryAfter) && retryAfter >= 0)
  if (isStatus && isTime) return message === reason.message ? reason : { ...reason, message }
  return {
    ...rest,
    message,
    ...(isStatus && status !== undefined ? { status } : {}),
    ...(isTime && retryAfter !== undefined ? { retryAfter } : {})
  } as unknown as R
}

/** Trying again later may help, after `retryAfter` if that is known. */
export class RetryableError<const R extends Reason = RunReason> extends Data.TaggedError("RetryableError")<{}> {
  readonly reason: R
  constructor(reason: R) {
    super()
    this.reason = bounded(reason)
  }
  override get message(): string {
    return this.reason.message
  }
  get retryAfter(): Duration.Duration | undefined {
    const millis = this.reason.retryAfter ?? this.reason.last?.retryAfter
    return millis === undefined ? undefined : Duration.millis(millis)
  }
}

/** Trying the same again will not help; the reason says what to change. */
export class NonRetryableError<const R extends Reason = RunRefusal> extends Data.TaggedError("NonRetryableError")<{}> {
  readonly reason: R
  constructor(reason: R) {
    super()
    this.reason = bounded(reason)
  }
  override get message(): string {
    return this.reason.message
  }
}

/** What a `Model` fails with, in a single attempt at a call. */
export type ModelError = RetryableError<ProviderReason> | NonRetryableError<ProviderRefusal>

/** What a run, and every other method of a client, fails with. */
export type RunError = RetryableError<RunReason> | NonRetryableError<RunRefusal>

/** A run's error as the log keeps it. */
export const Stored = Schema.Union([
  Schema.TaggedStruct("RetryableError", { reason: RunReason }),
  Schema.TaggedStruct("NonRetryableError", { reason: RunRefusal })
])
export type Stored = typeof Stored.Type

/** Drops the `cause`. */
export const toStored = (error: RunError): Stored =>
  error._tag === "RetryableError"
    ? { _tag: "RetryableError", reason: error.reason }
    : { _tag: "NonRetryableError", reason: error.reason }

/** The error that the log keeps, without its `cause`. */
export const fromStored = (stored: Stored): RunError =>
  stored._tag === "RetryableError" ? new RetryableError(stored.reason) : new NonRetryableError(stored.reason)

/** Whether the store did not answer: nothing is wrong with the run, which goes on by itself later. */
export const isStoreAway = ({ reason }: RunError | Stored): boolean => reason._tag === "StoreUnavailable"

/** An argument that cannot be used: `field` is its name, `message` says what it must be. */
export type InvalidInput = NonRetryableError<Extract<RunRefusal, { _tag: "InvalidInput" }>>

export const invalidInput = (field: string, message: string): InvalidInput =>
  new NonRetryableError({ _tag: "InvalidInput", field, message })

/** A request that names a run which began with other `fields` of its input. */
export const runConflict = (runId: string, fields: ReadonlyArray<string> = ["input"]): NonRetryableError =>
  new NonRetryableError({
    _tag: "RunConflict",
    runId,
    message: `run "${runId}" exists with another ${
      fields.join(" and ")
    }; use another run id, or what it began with to attach to it`
  })

/** A request that names a run of another agent than the one that is asked. */
export const runOfAnother = (runId: string, agent: string): NonRetryableError =>
  new NonRetryableError({
    _tag: "RunConflict",
    runId,
    message: `run "${runId}" is one of the agent "${agent}"; use another run id, or ask that agent`
  })

/** `what` has `bytes` of JSON, and may have at most `limit`. */
export const tooLarge = (what: string, bytes: number, limit: number): NonRetryableError<typeof EventTooLarge.Type> =>
  new NonRetryableError({
    _tag: "EventTooLarge",
    bytes,
    limit,
    message: `${what} has ${bytes} bytes of JSON, the limit is ${limit}; ` +
      "it was not stored. Keep large data elsewhere, and a reference to it here."
  })

/** Another run of the session is live, `runId` where it is known: once that has ended, it takes a new one. */
export const sessionBusy = (
  sessionId: string,
  runId?: string
): RetryableError<Extract<RunReason, { _tag: "SessionBusy" }>> =>
  new RetryableError({
    _tag: "SessionBusy",
    sessionId,
    ...(runId === undefined ? {} : { runId }),
    message: `session "${sessionId}" has a live run${
      runId === undefined ? "" : ` ("${runId}")`
    }; follow it, steer it, wait for its end, or abort it`
  })

/** An abort came before the run's first event was stored: nothing of it is left. */
export const abortedBeforeStart = (runId: string): NonRetryableError =>
  new NonRetryableError({
    _tag: "AbortedBeforeStart",
    runId,
    message: `run "${runId}" was aborted before it stored anything, so the session is as it was; start the run again`
  })

/** The store has no session with this id, or no longer. */
export const sessionNotFound = (
  sessionId: string
): NonRetryableError<Extract<RunRefusal, { _tag: "SessionNotFound" }>> =>
  new NonRetryableError({
    _tag: "SessionNotFound",
    sessionId,
    message: `there is no session "${sessionId}" in this store; Sessions.list lists those that it has`
  })

/** A bug, or a defect of a custom layer: `Unknown`, with the defect as its `cause`. */
export const fromDefect = (defect: unknown): NonRetryableError =>
  Object.assign(
    new NonRetryableError<RunRefusal>({ _tag: "Unknown", message: `a defect ended the run: ${unsaid(defect)}` }),
    { cause: defect }
  )

/** What a log may hold of what foreign code threw: not its message, which may quote what it read. */
export const unsaid = (thrown: unknown): string => {
  const kind = kindOf(thrown)
  return kind === undefined ? "see the error's cause" : `${kind}, see the error's cause`
}

/** The name of an error's class, which says nothing of what it read. */
export const kindOf = (thrown: unknown): string | undefined => {
  const name = Foreign.look<unknown, undefined>(() => thrown instanceof Error ? thrown.name : undefined, undefined)
  return typeof name === "string" && /^[\w/@.-]{1,100}$/.test(name) ? name : undefined
}

/** The typed error of a failure; a defect becomes `Unknown`, as in `fromDefect`. */
export const fromCause = (cause: Cause.Cause<RunError>): RunError => {
  const error = Cause.findErrorOption(cause)
  return error._tag === "Some" ? error.value : fromDefect(Cause.squash(cause))
}

/** The final answer is not what the agent's `output` schema takes, after as many corrections as it may have. */
export const invalidOutput = (problem: string): NonRetryableError =>
  new NonRetryableError({
    _tag: "InvalidOutput",
    message: `the model's final answer does not fit the agent's output schema: ${problem}`
  })

/** No run starts any more where this one was to live; another process may start it. */
export const shuttingDown = new RetryableError({
  _tag: "ShuttingDown",
  message:
    "the agent, or the layer that its runs live in, is closed and starts no more runs: if the process is ending, start the " +
    "run in another one; if not, the scope of the agent or of that layer ends too early: keep it open around everything " +
    "that uses the agent"
})
