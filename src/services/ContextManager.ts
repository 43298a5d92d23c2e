/**
 * The contract of keeping a conversation small enough: what is sent as it is, what must shrink first, and how.
 *
 * Does not own the log, from which nothing is ever deleted, nor when to ask; the loop asks before every model call.
 */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import type * as Message from "../run/Message.ts"
import type * as Transcript from "../run/Transcript.ts"
import type * as Usage from "../run/Usage.ts"
import type * as Model from "./Model.ts"

/** Why the context must shrink although nothing was asked of the strategy. */
export type Force = "overflow" | "length"

export interface View {
  readonly transcript: Transcript.Transcript
  readonly model: Model.ModelInfo
  readonly force: Force | undefined
}

export type Plan = { readonly _tag: "Send" } | { readonly _tag: "Compact"; readonly request: View }

/**
 * Messages of events up to `upTo` are replaced by `replacement`. Never splits a call from its result, keeps the latest
 * user message word for word, and leaves fewer messages than there were.
 */
export interface Compaction {
  readonly strategy: string
  readonly upTo: number
  readonly replacement: ReadonlyArray<Message.Message>
  readonly usage: Usage.Usage
  /** the model that was asked, where one was: `Prices` say what its usage cost */
  readonly model?: Message.ModelRef
}

/** The context could not be made smaller; log and context are as they were. */
export class CompactionError extends Data.TaggedError("CompactionError")<{ readonly message: string }> {}

export class ContextManager extends Context.Service<ContextManager, {
  /** Pure and total: the same view gives the same plan. */
  readonly plan: (view: View) => Plan
  /** Makes the context smaller or fails; may ask a model, whose usage is the run's. */
  readonly compact: (request: View) => Effect.Effect<Compaction, CompactionError>
}>()("fiberloop/services/ContextManager") {}
