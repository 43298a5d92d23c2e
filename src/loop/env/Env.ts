/**
 * What one drive works with: the services, what is asked of it, what the agent brings, and from all of them the environment
 * that is fixed for its length.
 *
 * Does not own how its parts are made (`Brief`, `Offer`, `Settings`), nor what is done with them.
 */
import type * as Clock from "effect/Clock"
import type { Json } from "effect/Schema"
import type * as DoomLoop from "../../run/DoomLoop.ts"
import type * as Message from "../../run/Message.ts"
import type * as RunInput from "../../run/RunInput.ts"
import type * as RunPolicy from "../../run/RunPolicy.ts"
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
import * as Counter from "./Counter.ts"
import * as Desk from "./Desk.ts"
import type * as HookRun from "./HookRun.ts"
import * as Inbox from "./Inbox.ts"
import * as LeftBehind from "./LeftBehind.ts"
import * as Patience from "./Patience.ts"
import type * as Rules from "./Rules.ts"
import type * as Settings from "./Settings.ts"

export interface Services {
  readonly model: Model.Model["Service"]
  readonly store: SessionStore.SessionStore["Service"]
  readonly executor: ToolExecutor.ToolExecutor["Service"]
  readonly context: ContextManager.ContextManager["Service"]
  readonly runs: Runs.Runs["Service"]
}

/** How a drive is to begin. */
export type Begin =
  | { readonly _tag: "Start"; readonly input: RunInput.Effective; readonly create: boolean }
  | { readonly _tag: "Resume"; readonly limits: RunPolicy.Limits | undefined; readonly data: Json | undefined }

/** What a turn is offered besides the conversation. */
export interface Offer {
  readonly system: Message.SystemMessage | undefined
  /** the tools offered to the model, in order */
  readonly tools: Model.Tools
  readonly toolChoice: Model.ToolChoice
  /** SHA-256 of the instructions and of the names and descriptions of the tools, and of a choice of tool, hex */
  readonly inputDigest: string
}

/** What the agent brings to a run, made for its input. */
export interface Brief extends Offer {
  readonly agent: string
  /** SHA-256 of the instructions, hex */
  readonly instructions: string
  /** the text of the system message with other instructions */
  readonly systemOf: (instructions: string) => string
  readonly rules: Rules.Rules
  readonly handlers: ToolExecutor.Handlers
  readonly timeouts: RunPolicy.Timeouts
  readonly policy: RunPolicy.ToolPolicy
  readonly doomLoop: DoomLoop.Settings | undefined
  /** what the model is told of the final answer besides words */
  readonly answer: Model.Output | undefined
  /** What is wrong with a final answer, in words for the model; `undefined` when nothing is. */
  readonly checkOutput: (text: string) => string | undefined
  /** The typed answer of a final text that `checkOutput` accepts. */
  readonly output: (text: string) => unknown
}

/** What is asked of a drive. */
export interface Request {
  readonly sessionId: string
  readonly runId: string
  readonly begin: Begin
  readonly brief: Brief
  readonly settings: Settings.Settings
  /** what is known of the log already */
  readonly folded: Fold.Folded
  /** somebody will read the events from the first on */
  readonly isWatched: boolean
}

export interface Env
  extends
    Pick<Services, "model" | "executor" | "context">,
    Offer,
    Pick<Brief, "handlers" | "systemOf" | "rules" | "timeouts" | "policy" | "doomLoop" | "answer" | "checkOutput">
{
  readonly sessionId: string
  /** whose monotonic time nobody sets: what takes time is measured by it */
  readonly clock: Clock.Clock
  readonly journal: Journal.Journal
  readonly inbox: Inbox.Inbox
  readonly desk: Desk.Desk
  readonly prices: Prices.Prices
  readonly counter: Counter.Counter
  readonly patience: Patience.Patience
  readonly hooks: HookRun.Hooking
  readonly leftBehind: LeftBehind.LeftBehind
  readonly telemetry: Telemetry.Telemetry
}

/** Those who hear of a drive, and who say something to it. */
interface Others {
  readonly leftBehind: LeftBehind.LeftBehind
  readonly inbox: Inbox.Inbox
  readonly feed: Pick<Feed.Feed, "publish">
}

/** Whoever reads a drive is not shown the end of one that died before it, to which nothing can be said. */
export const nobody = (): Others => ({
  leftBehind: new LeftBehind.LeftBehind(),
  feed: { publish: () => {} },
  inbox: new Inbox.Inbox()
})

/** Whole milliseconds since this was called, by a clock that nobody sets. */
export const stopwatch = ({ clock }: Pick<Env, "clock">): () => number => {
  const from = clock.monotonicTimeNanosUnsafe()
  return () => Math.floor(Number(clock.monotonicTimeNanosUnsafe() - from) / 1e6)
}

/** The environment of a drive that has its session. */
export const make = (
  services: Services,
  { brief, runId, sessionId, settings }: Pick<Request, "brief" | "runId" | "sessionId" | "settings">,
  { feed, inbox, leftBehind }: Others,
  { session, state, transcript }: Fold.Folded & { readonly session: SessionStore.Session }
): Env => ({
  // each by its name: every step reads it, and an object that others are spread into is slow to read
  model: services.model,
  executor: services.executor,
  context: services.context,
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
  answer: brief.answer,
  checkOutput: brief.checkOutput,
  sessionId,
  clock: settings.clock,
  prices: settings.prices,
  counter: new Counter.Counter(settings.tokenizer.count),
  patience: Patience.of(brief.timeouts),
  hooks: { at: settings.hooks, times: undefined },
  leftBehind,
  telemetry: settings.telemetry,
  desk: new Desk.Desk(),
  inbox,
  journal: Journal.make({ session, state, transcript, runId, feed, clock: settings.clock })
})
