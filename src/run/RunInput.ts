/**
 * What starts a run: the input as a caller gives it, and the effective input as the log keeps it.
 *
 * Does not own what may be given, nor how the one becomes the other (`InputCheck`).
 */
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

/**
 * What `run`, `stream` and `start` take.
 *
 * - `input`: a text, or user messages; not blank.
 * - `sessionId`: continues that session; created when unknown, unless `createSession` is `false`. Default: `runId` when
 *   that is given, so that the same request sent twice is one run, else a new id.
 * - `runId`: the same id again, in the same session, with equal input attaches to that run; with other input it is
 *   `RunConflict`.
 * - `history`: messages before the first one, for new sessions only.
 * - `instructions`: replaces the agent's for this run.
 * - `allowedTools`, `toolOrder`: cut and order the agent's tools, by name.
 * - `data`: any JSON, for tools and hooks; never sent to a model.
 */
export interface RunInput {
  readonly input: string | ReadonlyArray<MessageInput>
  readonly sessionId?: string | undefined
  readonly createSession?: boolean | undefined
  readonly runId?: string | undefined
  readonly history?: ReadonlyArray<HistoryInput> | undefined
  readonly instructions?: string | undefined
  readonly allowedTools?: ReadonlyArray<string> | undefined
  readonly toolOrder?: ReadonlyArray<string> | undefined
  readonly toolPolicy?: RunPolicy.ToolPolicy | undefined
  readonly limits?: RunPolicy.LimitsInput | undefined
  readonly data?: Schema.Json | undefined
}

/** What `resume` takes: the run is the session's last one; `limits` replace those it had, each where given. */
export interface ResumeInput {
  readonly sessionId: string
  readonly runId?: string | undefined
  readonly limits?: RunPolicy.LimitsInput | undefined
  readonly data?: Schema.Json | undefined
}

/**
 * What `decide` takes.
 *
 * - `approvalId`: of the question, as `approvals`, a suspended result and `ApprovalRequested` name it.
 * - `approved`: nothing but `true` is a yes.
 * - `by`: who decided, for the log.
 * - `reason`: for the log; the model reads why a call was denied.
 * - `params`: arguments to run with in place of the model's, with a yes only; the tool's schema must accept them.
 */
export interface DecideInput {
  readonly sessionId: string
  readonly approvalId: string
  readonly approved: boolean
  readonly by?: string | undefined
  readonly reason?: string | undefined
  readonly params?: Schema.Json | undefined
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
