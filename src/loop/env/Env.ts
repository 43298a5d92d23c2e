/**
 * What one drive works with: the services, and the environment made of them and its request, which is fixed while the drive lasts,
 * but for what its hooks are at.
 *
 * Does not own what is asked of a drive (`DriveRequest`), nor what is done with its environment.
 */
import type * as Clock from "effect/Clock"
import * as Frozen from "../../run/Frozen.ts"
import * as Patience from "../../services/attempts/Patience.ts"
import type * as ContextManager from "../../services/ContextManager.ts"
import type * as Model from "../../services/Model.ts"
import type * as Prices from "../../services/Prices.ts"
import type * as Runs from "../../services/Runs.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import type * as ToolExecutor from "../../services/ToolExecutor.ts"
import type * as Feed from "../log/Feed.ts"
import type * as Fold from "../log/Fold.ts"
import * as Journal from "../log/Journal.ts"
import type * as Telemetry from "../observe/Telemetry.ts"
import type * as Budget from "./Budget.ts"
import * as Counter from "./Counter.ts"
import type * as DriveRequest from "./DriveRequest.ts"
import type * as HookRun from "./HookRun.ts"
import * as Inbox from "./Inbox.ts"
import * as LeftBehind from "./LeftBehind.ts"
import * as WaitingCalls from "./WaitingCalls.ts"

export interface Services {
  readonly model: Model.Model["Service"]
  readonly store: SessionStore.Store
  readonly executor: ToolExecutor.ToolExecutor["Service"]
  readonly context: ContextManager.ContextManager["Service"]
  readonly runs: Runs.Runs["Service"]
}

export interface Env extends
  Pick<Services, "model" | "executor" | "context">,
  DriveRequest.Offer,
  Pick<
    DriveRequest.Brief,
    "agent" | "handlers" | "systemOf" | "rules" | "timeouts" | "policy" | "doomLoop" | "output" | "checkOutput"
  >
{
  readonly sessionId: string
  /** durations are measured by its monotonic time, which nobody sets */
  readonly clock: Clock.Clock
  readonly journal: Journal.Journal
  readonly inbox: Inbox.Inbox
  readonly budget: Budget.Budget
  readonly waitingCalls: WaitingCalls.WaitingCalls
  readonly prices: Prices.Prices
  readonly counter: Counter.Counter
  readonly patience: Patience.Patience
  readonly hooks: HookRun.Hooking
  readonly leftBehind: LeftBehind.LeftBehind
  readonly telemetry: Telemetry.Telemetry
}

/** Those who hear of a drive, speak to it, and spend with it. */
interface Others {
  readonly leftBehind: LeftBehind.LeftBehind
  readonly inbox: Inbox.Inbox
  readonly budget: Budget.Budget
  readonly feed: Pick<Feed.Feed, "publish">
}

/** For what is appended before a drive begins, or without one: it is shown to no reader, and nobody can say anything meanwhile. */
export const nobody = (budget: Budget.Budget): Others => ({
  budget,
  leftBehind: new LeftBehind.LeftBehind(),
  feed: { publish: () => {} },
  inbox: new Inbox.Inbox()
})

/** Whether a turn is offered a tool: no other tool is called, or can be required. A loop: V8 is slow at `some` of a frozen array. */
export const isOffered = ({ tools }: Pick<Env, "tools">, tool: string): boolean => {
  for (const { name } of tools) if (name === tool) return true
  return false
}

/** The environment of a drive that has its session. */
export const make = (
  services: Services,
  { brief, runId, sessionId, settings }: Pick<DriveRequest.DriveRequest, "brief" | "runId" | "sessionId" | "settings">,
  { budget, feed, inbox, leftBehind }: Others,
  { session, state, transcript }: Fold.Folded & { readonly session: SessionStore.Session }
): Env => {
  const journal = Journal.make({ session, state, transcript, runId, feed, clock: settings.clock })
  budget.follow(journal)
  // hooks and approvers are also handed what an earlier drive left
  Frozen.deep([state.input, state.openCalls, state.answer])
  return {
    // each member by name: every step reads this object, and one that others are spread into is slow to read
    model: services.model,
    executor: services.executor,
    context: services.context,
    agent: brief.agent,
    handlers: brief.handlers,
    system: brief.system,
    systemOf: brief.systemOf,
    tools: brief.tools,
    toolChoice: brief.toolChoice,
    inputDigest: brief.inputDigest,
    rules: brief.rules,
    timeouts: brief.timeouts,
    policy: brief.policy,
    doomLoop: brief.doomLoop,
    output: brief.output,
    checkOutput: brief.checkOutput,
    sessionId,
    clock: settings.clock,
    prices: settings.prices,
    counter: new Counter.Counter(settings.tokenizer),
    patience: Patience.of(brief.timeouts),
    hooks: { at: settings.hooks, times: undefined, held: undefined },
    leftBehind,
    telemetry: settings.telemetry,
    waitingCalls: new WaitingCalls.WaitingCalls(),
    inbox,
    budget,
    journal
  }
}
