/**
 * What one drive works with: the services, what was asked of it, and from both the environment that is fixed for its
 * length.
 */
import type * as ToolOutcome from "../../run/ToolOutcome.ts"
import type * as Approver from "../../services/Approver.ts"
import type * as ContextManager from "../../services/ContextManager.ts"
import type * as Model from "../../services/Model.ts"
import type * as Prices from "../../services/Prices.ts"
import type * as Reconciler from "../../services/Reconciler.ts"
import type * as RetryPolicy from "../../services/RetryPolicy.ts"
import type * as Runs from "../../services/Runs.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import type * as ToolExecutor from "../../services/ToolExecutor.ts"
import type * as Fold from "../log/Fold.ts"
import type * as Journal from "../log/Journal.ts"
import type * as Desk from "../round/Desk.ts"
import type * as Brief from "../start/Brief.ts"
import type * as Opening from "../start/Opening.ts"
import type * as Offer from "../turn/Offer.ts"
import type * as Sizing from "../turn/Sizing.ts"
import type * as HookRun from "./HookRun.ts"
import type * as Inbox from "./Inbox.ts"

export interface Services {
  readonly model: Model.Model["Service"]
  readonly store: SessionStore.SessionStore["Service"]
  readonly executor: ToolExecutor.ToolExecutor["Service"]
  readonly context: ContextManager.ContextManager["Service"]
  readonly runs: Runs.Runs["Service"]
}

export interface Request {
  readonly sessionId: string
  readonly runId: string
  readonly begin: Opening.Begin
  readonly brief: Brief.Brief
  /** what is known of the log already */
  readonly folded: Fold.Folded
  /** somebody will read the events from the first on */
  readonly isWatched: boolean
  /** holds the run while it is driven */
  readonly track: Set<Runs.LiveRun>
}

export interface Env
  extends
    Pick<Services, "model" | "executor" | "context">,
    Offer.Offer,
    Pick<Brief.Brief, "handlers" | "systemOf" | "rules" | "timeouts" | "policy" | "doomLoop" | "answer" | "checkOutput">
{
  readonly sessionId: string
  readonly journal: Journal.Journal
  readonly inbox: Inbox.Inbox
  readonly approver: Approver.Approver
  readonly desk: Desk.Desk
  readonly reconciler: Reconciler.Reconciler
  readonly retry: RetryPolicy.RetryPolicy
  readonly prices: Prices.Prices
  readonly counter: Sizing.Counter
  readonly hooks: HookRun.Hooking
  /** what did not end in time, by call id where it was a call, and what that makes of the call */
  readonly leftBehind: Map<string, { readonly name: string; readonly outcome?: ToolOutcome.ToolOutcome }>
}
