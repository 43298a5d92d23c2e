/**
 * The application's own code around model calls and tool calls: a setting, by default none. Guards may change or refuse
 * what goes on, and where a guard gives no usable word nothing goes on; observers look.
 *
 * Does not own when hooks run, nor what a refusal makes of a call or a run; the loop does.
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Message from "../run/Message.ts"
import type * as RunEvent from "../run/RunEvent.ts"
import * as ToolOutcome from "../run/ToolOutcome.ts"
import type * as Usage from "../run/Usage.ts"

/** Where a hook is called. */
interface InTurn {
  readonly sessionId: string
  readonly runId: string
  readonly turn: number
  /** the run's `data` */
  readonly data: Schema.Json | undefined
}

/** What a model is about to be sent: the instructions first where there are some, and the tools offered, by name. */
export interface ModelCall extends InTurn {
  readonly model: Message.ModelRef
  readonly messages: ReadonlyArray<Message.Message>
  readonly tools: ReadonlyArray<string>
}

/** What a model said, as it is stored. */
export interface ModelAnswer extends InTurn {
  readonly message: Message.AssistantMessage
  readonly finishReason: RunEvent.FinishReason
  readonly usage: Usage.Usage
}

/** A call that has not run, of a tool that may not exist, with arguments that nobody has decoded. */
export interface ToolCall extends InTurn {
  /** unique in the run */
  readonly callId: string
  readonly tool: string
  /** as the hooks before left them, or as a person was asked about them */
  readonly params: Schema.Json
  /** what the handler gets as `ToolCall.idempotencyKey` */
  readonly idempotencyKey: string
}

/** What became of a call. */
export interface ToolEnded extends ToolCall {
  readonly outcome: ToolOutcome.ToolOutcome
  /** milliseconds that the handler took; 0 where the call was answered without running */
  readonly duration: number
  /** the outcome is a preliminary result: what `ToolProgress` is about to show, while the call goes on */
  readonly isPreliminary: boolean
}

/** `tools` may only leave some out; absent parts stay as they are. */
export const ModelChange = Schema.Struct({
  messages: Schema.optionalKey(Schema.Array(Message.Message)),
  tools: Schema.optionalKey(Schema.Array(Schema.String))
})
export type ModelChange = typeof ModelChange.Type

/**
 * Other arguments; no, with a reason that the model reads; or a result, as a success of the tool, without running it.
 */
export const ToolDecision = Schema.Union([
  Schema.TaggedStruct("Change", { params: Schema.Json }),
  Schema.TaggedStruct("Deny", { reason: Schema.String }),
  Schema.TaggedStruct("Answer", { result: Schema.Json })
])
export type ToolDecision = typeof ToolDecision.Type

/** What is stored, emitted and shown to the model in place of the outcome. */
export const ToolChange = Schema.Struct({ outcome: ToolOutcome.ToolOutcome })
export type ToolChange = typeof ToolChange.Type

/**
 * Its functions run in the order of the hooks, each seeing what the one before made of it, and one after the other for
 * one call; parallel calls have theirs at the same time. What one fails with is told to nobody, since it may hold
 * secrets: a hook that wants it known logs it itself. Interrupted when the run ends.
 */
export interface Hook {
  /** how the log and errors call it */
  readonly name: string
  /**
   * A `guard` that fails, dies, interrupts itself, is late, or gives what cannot be used blocks: the run, the call, or
   * what it would have masked. An `observer` that does is named in a warning, and ignored; what it gives is ignored
   * too. Default `guard`.
   */
  readonly kind?: "guard" | "observer" | undefined
  /** for one run of one of its functions; default 10 seconds */
  readonly timeout?: Duration.Input | undefined
  /**
   * Before a model is called; retries send the same. It runs again where the context had to be compacted for the call.
   * What is said to the run meanwhile goes with the next call. Messages are made legal again, and neither log nor
   * transcript is changed by them. Calls of tools left out are `UnknownTool` in this turn. Blocked: nothing is sent,
   * the run fails with `HookBlocked`.
   */
  readonly beforeModelCall?: (call: ModelCall) => Effect.Effect<ModelChange | void, unknown>
  /**
   * Once an answer is stored, before any of its calls runs. Runs again when another drive takes the turn up before its
   * first call. Blocked: no call runs, the run fails with `HookBlocked`.
   */
  readonly afterModelCall?: (answer: ModelAnswer) => Effect.Effect<void, unknown>
  /**
   * Before a call is looked at any further: whether it asks a person, and which arguments are used, follows from what
   * is decided here. The model keeps seeing its own call. Runs again when another drive takes the call up before it
   * started, then with the arguments that a person was asked about, where one was: what it changed once it has to leave
   * as it is, since for other arguments an answer does not count, and the person is asked again; with the arguments
   * that a person gave, too. Where it changes those of three answers in one drive, the call is `Denied`. Blocked: the
   * call is `Denied`.
   */
  readonly beforeToolCall?: (call: ToolCall) => Effect.Effect<ToolDecision | void, unknown>
  /**
   * Before an outcome that says something of a tool is stored or shown to anyone: of a call that ran, was answered by a
   * hook, or is known from a `Reconciler`; for guards also before a preliminary result is shown. What is given instead
   * is what is stored, emitted and shown to the model. Blocked: the result is withheld, the outcome is `Failed`; a
   * preliminary result is left out.
   */
  readonly afterToolCall?: (call: ToolEnded) => Effect.Effect<ToolChange | void, unknown>
}

/** Where a hook may run. */
export type Point = Exclude<keyof Hook, "name" | "kind" | "timeout">

/**
 * Hooks of all levels add up: first the agent's options, then its layer's, then the caller's. One that stands in
 * several of them runs once. Agents that run inside a tool have those of the run around them too.
 */
export const Hooks = Context.Reference<ReadonlyArray<Hook>>("fiberloop/services/Hooks", { defaultValue: () => none })

const none: ReadonlyArray<Hook> = []
