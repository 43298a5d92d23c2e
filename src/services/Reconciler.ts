/**
 * Who knows what became of a tool call whose process died between its start and its outcome: a setting; by default
 * nobody, and then the outcome is unknown.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"

/** A call that was started and has no outcome. */
export interface Question {
  readonly sessionId: string
  readonly runId: string
  readonly callId: string
  readonly tool: string
  readonly params: Schema.Json
  /** the run's `data` */
  readonly data: Schema.Json | undefined
  /** what the handler got as `ToolCall.idempotencyKey` */
  readonly idempotencyKey: string
  /** when it was started, in milliseconds since the epoch */
  readonly startedAt: number
}

/** `result` is what the model reads, in the JSON of the tool's success schema, by which it is not checked; default `null`. */
export type Answer =
  | { readonly _tag: "Done"; readonly result?: Schema.Json }
  /** It had no effect: the call runs again, with the same idempotency key, when the run goes on; else it is `NotExecuted`. */
  | { readonly _tag: "NotDone" }
  | { readonly _tag: "Unknown" }

/** What an application provides to look up what its tools did. */
export interface Reconciler {
  /**
   * Asked once for each such call of a tool that is neither `Tool.Readonly` nor `Tool.Idempotent`, before the run goes
   * on or a new one begins. A failure, a defect, its own interruption, no answer within the time limit of tools, and one
   * with a field that `Answer` does not have all count as `Unknown`. A `result` that is not JSON, or larger than a store
   * holds, makes the outcome `NotEncodable`. It is asked where a limit keeps the run from going on, too, but not about a run that
   * ends with `crashLoop`. An abort, or a limit on time that is reached meanwhile, cuts it off: `Unknown`.
   */
  readonly reconcile: (question: Question) => Effect.Effect<Answer, unknown>
}

/** Read for every such call. Default: nobody knows, `Unknown`. */
export const Reconciler = Context.Reference<Reconciler>("fiberloop/services/Reconciler", {
  defaultValue: () => ({ reconcile: () => Effect.succeed({ _tag: "Unknown" }) })
})
