/**
 * What starts a run: the input as a caller gives it, and the effective input as the log keeps it.
 *
 * Does not own what may be given, nor how the one becomes the other (`InputCheck`).
 */
import type * as Duration from "effect/Duration"
import * as Schema from "effect/Schema"
import * as Message from "./Message.ts"
import * as RunPolicy from "./RunPolicy.ts"

/** A user message as a caller writes one; `content` may be plain text. */
export interface MessageInput {
  readonly role: "user"
  readonly content: string | ReadonlyArray<Message.UserPart>
}

/** A message of a conversation that began elsewhere. */
export interface HistoryInput {
  readonly role: "user" | "assistant"
  readonly content: string | ReadonlyArray<Message.UserPart>
}

/** What `run`, `stream` and `start` take. A wrong field is `InvalidInput`, which names it, before anything is written. */
export interface RunInput {
  /** a text, or user messages with files; not blank */
  readonly input: string | ReadonlyArray<MessageInput>
  /**
   * Goes on with that session, or begins it. Default: `runId` when that is given, so that the same request sent twice is one
   * run, else a new id. At most 200 characters.
   */
  readonly sessionId?: string | undefined
  /** `false`: a session that is not known is `SessionNotFound`. Default `true`. */
  readonly createSession?: boolean | undefined
  /**
   * The same id again, in the same session, with equal input attaches to that run; with other input it is `RunConflict`.
   * Default: a new id. At most 200 characters.
   */
  readonly runId?: string | undefined
  /** messages before the first one, for new sessions only */
  readonly history?: ReadonlyArray<HistoryInput> | undefined
  /** in the place of the agent's, for this run */
  readonly instructions?: string | undefined
  /** the agent's tools that this run may use, by name; default all */
  readonly allowedTools?: ReadonlyArray<string> | undefined
  /** names of tools that the model sees first, in this order; default the toolkit's */
  readonly toolOrder?: ReadonlyArray<string> | undefined
  /** adds to the agent's: what either forbids is forbidden */
  readonly toolPolicy?: RunPolicy.ToolPolicyInput | undefined
  /** each that is given replaces the agent's; `Infinity` lifts one */
  readonly limits?: RunPolicy.LimitsInput | undefined
  /** any JSON, for tools (`ToolCall`), hooks and conditions; never sent to a model */
  readonly data?: Schema.Json | undefined
}

/** What `resume` takes. */
export interface ResumeInput {
  readonly sessionId: string
  /** the session's last run, which is the default; another one is `NothingToResume` */
  readonly runId?: string | undefined
  /** each that is given replaces the one that the run had; what was used up counts on */
  readonly limits?: RunPolicy.LimitsInput | undefined
  /** in the place of the input's, from here on */
  readonly data?: Schema.Json | undefined
}

/** What `recover` takes. */
export interface RecoverInput {
  /** at most so many are taken up by one call. Default 100. */
  readonly limit?: number | undefined
  /** `true`: runs that wait for people too, once no question of theirs waits any more. Default `false`: whoever answers resumes. */
  readonly answered?: boolean | undefined
  /** only those whose log was written to so long ago at most. Default 7 days; `Infinity` for all. */
  readonly within?: Duration.Input | undefined
}

/** What `decide` takes. */
export interface DecideInput {
  readonly sessionId: string
  /** of the question, as `approvals`, a suspended result and `ApprovalRequested` name it */
  readonly approvalId: string
  /** `true` or `false`: anything else is no answer, and `InvalidInput` */
  readonly approved: boolean
  /** who decided, for the log */
  readonly by?: string | undefined
  /** for the log; the model reads why a call was denied */
  readonly reason?: string | undefined
  /** arguments to run with in place of the model's, with a yes only; the tool's schema must accept them */
  readonly params?: Schema.Json | undefined
  /**
   * what the call is settled with, with a yes and without `params` only: the tool's handler does not run. JSON that the
   * tool's success schema reads; `null` is a result like any other, `undefined` is none
   */
  readonly result?: Schema.Json | undefined
  /** whose call is answered, as far as the caller knows: where the question is about another tool's, nothing is recorded */
  readonly tool?: string | undefined
}

/** The whole effective input of a run, as `RunStarted` stores it: defaults filled in, plain JSON. */
export const Effective = Schema.Struct({
  messages: Schema.Array(Message.UserMessage),
  history: Schema.optionalKey(Schema.Array(Schema.Union([Message.UserMessage, Message.AssistantMessage]))),
  instructions: Schema.optionalKey(Schema.String),
  allowedTools: Schema.optionalKey(Schema.Array(Schema.String)),
  toolOrder: Schema.optionalKey(Schema.Array(Schema.String)),
  toolPolicy: RunPolicy.ToolPolicy,
  limits: RunPolicy.Limits,
  data: Schema.optionalKey(Schema.Json)
})
export type Effective = typeof Effective.Type
