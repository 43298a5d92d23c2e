/**
 * What starts a run: the input as a caller gives it, and the effective input as the log keeps it.
 *
 * Does not own which values are valid, nor how the one becomes the other (`InputCheck`).
 */
import type * as Duration from "effect/Duration"
import * as Schema from "effect/Schema"
import * as Message from "./Message.ts"
import * as RunPolicy from "./RunPolicy.ts"

/** A part of a message as a caller writes one: what may be left out may be `undefined`. */
type PartInput =
  | { readonly type: "text"; readonly text: string; readonly metadata?: Message.Metadata | undefined }
  | {
    readonly type: "file"
    readonly mediaType: string
    /** base64, or an address that starts with `http:`, `https:` or `data:` */
    readonly data: string
    readonly fileName?: string | undefined
    readonly metadata?: Message.Metadata | undefined
  }

/** A user message as a caller writes one; `content` may be plain text. */
export interface MessageInput {
  readonly role: "user"
  readonly content: string | ReadonlyArray<PartInput>
}

/** A message of a conversation that began elsewhere. */
export interface HistoryInput {
  readonly role: "user" | "assistant"
  readonly content: string | ReadonlyArray<PartInput>
}

/** What `run`, `stream` and `start` take. A wrong field fails with `InvalidInput`, which names it, before anything is written. */
export interface RunInput {
  /** a text, or user messages with files; not blank */
  readonly input: string | ReadonlyArray<MessageInput>
  /**
   * The session to continue, or to begin. Default: `runId` if that is given, so that the same request sent twice is one run,
   * else a new id. At most 200 characters.
   */
  readonly sessionId?: string | undefined
  /** `false`: an unknown session is `SessionNotFound`. Default `true`. */
  readonly createSession?: boolean | undefined
  /**
   * The same id again, in the same session, attaches to that run if the input is equal; with other input, or of another
   * agent, it is `RunConflict`. Of limits and tool policies only what is given is compared. Default: a new id. At most 200
   * characters.
   */
  readonly runId?: string | undefined
  /** messages before the first one, for new sessions only */
  readonly history?: ReadonlyArray<HistoryInput> | undefined
  /** replace the agent's, for this run */
  readonly instructions?: string | undefined
  /** the agent's tools that this run may use, by name; default all */
  readonly allowedTools?: ReadonlyArray<string> | undefined
  /** names of tools that the model sees first, in this order; default: the toolkit's order */
  readonly toolOrder?: ReadonlyArray<string> | undefined
  /** added to the agent's: what either forbids is forbidden */
  readonly toolPolicy?: RunPolicy.ToolPolicyInput | undefined
  /** each limit given replaces the agent's; `Infinity` lifts one */
  readonly limits?: RunPolicy.LimitsInput | undefined
  /** any JSON, for tools (`ToolCall`), hooks and conditions; never sent to a model */
  readonly data?: Schema.Json | undefined
}

/** What `resume` takes. */
export interface ResumeInput {
  readonly sessionId: string
  /** default: the session's last run; any other is `NothingToResume` */
  readonly runId?: string | undefined
  /** each limit given replaces the run's; what was used up still counts */
  readonly limits?: RunPolicy.LimitsInput | undefined
  /** replaces the input's, from here on */
  readonly data?: Schema.Json | undefined
}

/** What `recover` takes. */
export interface RecoverInput {
  /** one call takes up at most this many runs. Default 100. */
  readonly limit?: number | undefined
  /** `true`: also runs that wait for people, once none of their questions is open. Default `false`: whoever answers resumes. */
  readonly answered?: boolean | undefined
  /**
   * only runs to which something happened at most this long ago: their log was written to, people answered, or a question expired.
   * Default 7 days; `Infinity` for all.
   */
  readonly within?: Duration.Input | undefined
}

/** What `decide` takes. */
export interface DecideInput {
  readonly sessionId: string
  /** the question's id, as `approvals`, a suspended result and `ApprovalRequested` give it */
  readonly approvalId: string
  /** `true` or `false`: anything else is `InvalidInput` */
  readonly approved: boolean
  /** who decided, for the log */
  readonly by?: string | undefined
  /** for the log; if the call is denied, the model reads it */
  readonly reason?: string | undefined
  /** arguments to run with instead of the model's; only with a yes, and the tool's schema must accept them */
  readonly params?: Schema.Json | undefined
  /**
   * what the call is settled with, only with a yes and without `params`: the tool's handler does not run. JSON that the
   * tool's success schema reads; `null` is a result like any other, `undefined` is none
   */
  readonly result?: Schema.Json | undefined
  /** the tool whose call is answered, if the caller knows it: if the question is about another tool, nothing is recorded */
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

/** What a caller gave of what the agent and its settings bring too, checked. */
export interface Given {
  readonly limits: RunPolicy.Limits | undefined
  readonly toolPolicy: RunPolicy.ToolPolicy | undefined
}

/**
 * What a caller who asks for the run `stored` asks for: what he does not give is as in that run, whatever the agent has by now. Equal
 * to `stored`, in canonical JSON, where both ask for the same.
 */
export const askedOf = (stored: Effective, asked: Effective, { limits, toolPolicy }: Given): Effective => ({
  ...asked,
  limits: limits === undefined ? stored.limits : RunPolicy.merge(stored.limits, limits),
  toolPolicy: toolPolicy === undefined ? stored.toolPolicy : RunPolicy.narrow(stored.toolPolicy, toolPolicy)
})
