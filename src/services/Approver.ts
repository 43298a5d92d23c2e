/**
 * Who answers in this process when a tool call asks for permission: a setting; by default nobody, and nobody is never a
 * yes.
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
  /** SHA-256 of the canonical arguments, hex */
  readonly digest: string
  /** milliseconds since the epoch: an answer that comes later is a no */
  readonly expiresAt?: number
  /** a yes has to give the call's `result`: one that does not is as if nobody had answered */
  readonly needsResult?: boolean
}

/**
 * `by` names who decided; the model reads `reason`. `params` are run with in place of the model's arguments; where the
 * tool does not take them, or it is none of this agent's, the call is denied with a reason that says so. `result` is what
 * the call is settled with, and its handler does not run: where the tool's success schema does not read it, or `params`
 * are given too, the call is denied the same way.
 */
export type Answer =
  | {
    readonly approved: true
    readonly by?: string | undefined
    readonly params?: Schema.Json | undefined
    readonly result?: Schema.Json | undefined
  }
  | { readonly approved: false; readonly by?: string | undefined; readonly reason?: string | undefined }

/** What an application provides to have questions answered in this process. */
export interface Approver {
  /**
   * Asks a person, or a rule. `undefined`: nobody here answers, the run is suspended until somebody does elsewhere. A
   * defect counts as nobody. Interrupted when the run ends, when `decide` answers first, and when the question expires.
   */
  readonly ask: (question: Question) => Effect.Effect<Answer | undefined>
}

/** Read for every question. Default: nobody. */
export const Approver = Context.Reference<Approver>("fiberloop/services/Approver", {
  defaultValue: () => ({ ask: () => Effect.succeed(undefined) })
})
