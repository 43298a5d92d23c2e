/** What one drive works with: the agent's parts and the run's place, fixed for the length of the drive. */
import type * as Message from "../run/Message.ts"
import type * as RunPolicy from "../run/RunPolicy.ts"
import type * as ToolOutcome from "../run/ToolOutcome.ts"
import type * as Approver from "../services/Approver.ts"
import type * as ContextManager from "../services/ContextManager.ts"
import type * as Model from "../services/Model.ts"
import type * as Reconciler from "../services/Reconciler.ts"
import type * as RetryPolicy from "../services/RetryPolicy.ts"
import type * as ToolExecutor from "../services/ToolExecutor.ts"
import type * as Journal from "./Journal.ts"

export interface Env {
  readonly sessionId: string
  readonly journal: Journal.Journal
  readonly model: Model.Model["Service"]
  readonly executor: ToolExecutor.ToolExecutor["Service"]
  readonly context: ContextManager.ContextManager["Service"]
  readonly approver: Approver.Approver
  readonly reconciler: Reconciler.Reconciler
  readonly retry: RetryPolicy.RetryPolicy
  readonly timeouts: RunPolicy.Timeouts
  readonly policy: RunPolicy.ToolPolicy
  readonly handlers: ToolExecutor.Handlers
  readonly system: Message.SystemMessage | undefined
  /** the tools offered to the model, in order */
  readonly tools: Model.Tools
  /** SHA-256 of the instructions and of the names and descriptions of the tools, hex */
  readonly inputDigest: string
  /** What is wrong with a final answer, in words for the model; `undefined` when nothing is. */
  readonly checkOutput: (text: string) => string | undefined
  /** what did not end in time, by call id where it was a call, and what that makes of the call */
  readonly leftBehind: Map<string, { readonly name: string; readonly outcome?: ToolOutcome.ToolOutcome }>
}
