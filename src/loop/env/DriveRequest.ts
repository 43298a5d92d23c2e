/**
 * What is asked of a drive: how it is to begin, what the agent brings to the run, and what is already known of the log.
 *
 * Does not own how that is made (`Brief`, `Offer`, `Settings`), nor what a drive makes of it (`Env`).
 */
import type { Json } from "effect/Schema"
import type * as DoomLoop from "../../run/DoomLoop.ts"
import type * as Message from "../../run/Message.ts"
import type * as RunInput from "../../run/RunInput.ts"
import type * as RunPolicy from "../../run/RunPolicy.ts"
import type * as Model from "../../services/Model.ts"
import type * as ToolExecutor from "../../services/ToolExecutor.ts"
import type * as Fold from "../log/Fold.ts"
import type * as Rules from "./Rules.ts"
import type * as Settings from "./Settings.ts"

/** A run is to begin. */
export interface Start {
  readonly _tag: "Start"
  readonly input: RunInput.Effective
  /** what of the input came from the caller */
  readonly given: RunInput.Given
  /** whether an unknown session is created */
  readonly create: boolean
}

/** A run that is in the log is to go on. */
export interface Resume {
  readonly _tag: "Resume"
  /** what it was started with */
  readonly input: RunInput.Effective
  readonly limits: RunPolicy.Limits | undefined
  readonly data: Json | undefined
  /** of a run that was found: it goes on only if this is still the last event of its log and nobody has asked to abort it */
  readonly foundAt?: number
}

export type Begin = Start | Resume

/** Whether the run was found, and not asked for by a caller. */
export const isFound = (begin: Begin): boolean => begin._tag === "Resume" && begin.foundAt !== undefined

/**
 * Whether a caller has asked to resume the run, and so can know how it ended. As a caller asked: a start of a run that is in the log
 * already may become a resume, but not by hand.
 */
export const isByHand = (asked: Begin): boolean => asked._tag === "Resume" && !isFound(asked)

/** The run's `data` once it has begun so, where the log had `before`. */
export const dataOf = (begin: Begin, before: RunInput.Effective | undefined): Json | undefined => {
  if (begin._tag === "Start") return begin.input.data
  return begin.data === undefined ? before?.data : begin.data
}

/** What a turn is offered besides the conversation. */
export interface Offer {
  readonly system: Message.SystemMessage | undefined
  /** the tools offered to the model, in order */
  readonly tools: Model.Tools
  readonly toolChoice: Model.ToolChoice
  /** as `TurnStarted` has it */
  readonly inputDigest: string
}

/** What the agent brings to a run, made for its input. */
export interface Brief extends Offer {
  readonly agent: string
  /** SHA-256 of the instructions, hex */
  readonly instructionsDigest: string
  /** the text of the system message for other instructions */
  readonly systemOf: (instructions: string) => string
  readonly rules: Rules.Rules
  readonly handlers: ToolExecutor.Handlers
  readonly timeouts: RunPolicy.Timeouts
  readonly policy: RunPolicy.ToolPolicy
  readonly doomLoop: DoomLoop.Settings | undefined
  /** what a model request says of the final answer, besides the words in the system message */
  readonly output: Model.Output | undefined
  /** What is wrong with a final answer, in words for the model; `undefined` when nothing is. */
  readonly checkOutput: (text: string) => string | undefined
  /** The typed answer of a final text that `checkOutput` accepts. */
  readonly decodeOutput: (text: string) => unknown
}

/** What is asked of a drive. */
export interface DriveRequest {
  readonly sessionId: string
  readonly runId: string
  readonly begin: Begin
  readonly brief: Brief
  readonly settings: Settings.Settings
  /** what is known of the log already */
  readonly folded: Fold.Folded
  /** somebody will read the events from the first one on */
  readonly isWatched: boolean
}
