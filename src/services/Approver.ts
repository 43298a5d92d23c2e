/**
 * Who answers in this process when a tool call asks for permission: a setting. By default nobody does, and no answer is
 * never a yes.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"

/** A question about one call, bound to run, call and a digest of the arguments. */
export interface Question {
  readonly sessionId: string
  readonly runId: string
  /** unique in the session */
  readonly approvalId: string
  readonly callId: string
  readonly tool: string
  readonly params: Schema.Json
  /** the run's `data` */
  readonly data: Schema.Json | undefined
  /** SHA-256 of the canonical arguments, hex */
  readonly digest: string
  /** milliseconds since the epoch: a later answer is a no */
  readonly expiresAt?: number
  /** a yes must give the call's `result`; one without it counts as no answer */
  readonly needsResult?: boolean
}

/**
 * `by` names who decided; the model reads `reason`. `params` replace the model's arguments; if the tool does not take
 * them, or is not one of this agent's, the call is denied with a reason that says so. `result` settles the call, and its
 * handler does not run; if the tool's success schema does not read it, or `params` are given too, the call is denied in
 * the same way.
 */
export type Answer =
  | {
    readonly approved: true
    readonly by?: string | undefined
    readonly params?: Schema.Json | undefined
    readonly result?: Schema.Json | undefined
  }
  | { readonly approved: false; readonly by?: string | undefined; readonly reason?: string | undefined }

/** What an application provides to answer questions in this process. */
export interface Approver {
  /**
   * Asks a person, or a rule. `undefined`: nobody here answers, the run is suspended until somebody does elsewhere. A
   * defect counts as nobody, and so does a yes with a field that `Answer` does not have. Interrupted when the run ends,
   * when `decide` answers first, and when the question expires.
   */
  readonly ask: (question: Question) => Effect.Effect<Answer | undefined>
}

/** Read for every question. Default: nobody. */
export const Approver = Context.Reference<Approver>("fiberloop/services/Approver", {
  defaultValue: () => ({ ask: () => Effect.succeed(undefined) })
})
