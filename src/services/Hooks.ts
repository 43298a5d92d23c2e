/**
 * The application's own code around model calls and tool calls: a setting, by default none. Guards may change or refuse
 * what is about to happen, and nothing happens when a guard gives no usable answer; observers only look.
 *
 * Does not own when hooks run, nor what a refusal does to a call or a run; the loop does.
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

/** What a model is about to be sent: the instructions first, if there are any, and the tools offered, by name. */
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

/** A call that has not run. Its tool may not exist, and nobody has decoded its arguments. */
export interface ToolCall extends InTurn {
  /** unique in the run */
  readonly callId: string
  readonly tool: string
  /** as earlier hooks left them, or as a person was asked about them */
  readonly params: Schema.Json
  /** what the handler gets as `ToolCall.idempotencyKey` */
  readonly idempotencyKey: string
}

/** What became of a call. */
export interface ToolEnded extends ToolCall {
  readonly outcome: ToolOutcome.ToolOutcome
  /** milliseconds that the handler took; 0 when the call was answered without running */
  readonly duration: number
  /** the outcome is a preliminary result, which `ToolProgress` is about to show while the call goes on */
  readonly isPreliminary: boolean
}

/** `tools` may only leave some out; absent fields change nothing. With any other field it is unusable. */
export const ModelChange = Schema.Struct({
  messages: Schema.optionalKey(Schema.Array(Message.Message)),
  tools: Schema.optionalKey(Schema.Array(Schema.String))
})
export type ModelChange = typeof ModelChange.Type

/**
 * Other arguments; a no, with a reason that the model reads; or a result, as a success of the tool, without running it.
 * With any other field it is unusable.
 */
export const ToolDecision = Schema.Union([
  Schema.TaggedStruct("Change", { params: Schema.Json }),
  Schema.TaggedStruct("Deny", { reason: Schema.String }),
  Schema.TaggedStruct("Answer", { result: Schema.Json, content: Schema.optionalKey(ToolOutcome.Content) })
])
export type ToolDecision = typeof ToolDecision.Type

/** What is stored, emitted and shown to the model in place of the outcome. With any other field it is unusable. */
export const ToolChange = Schema.Struct({ outcome: ToolOutcome.ToolOutcome })
export type ToolChange = typeof ToolChange.Type

/**
 * Functions run in the order of the hooks, one after the other for one call, each seeing what the one before made of
 * it; parallel calls run theirs at the same time. What a function fails with may hold secrets: it is neither stored nor
 * logged, but where a guard blocks a run with a typed failure, that is the `cause` of the error in the process that drives
 * the run. Interrupted when the run ends.
 */
export interface Hook {
  /** its name in the log and in errors */
  readonly name: string
  /**
   * A `guard` that fails, dies, interrupts itself, is late, or returns something unusable blocks: the run, the call, or
   * the result that it would have masked. An `observer` that does so is named in a warning and ignored, and so is
   * whatever it returns. Default `guard`.
   */
  readonly kind?: "guard" | "observer" | undefined
  /** time limit for one run of one of its functions, at least a millisecond; default 10 seconds */
  readonly timeout?: Duration.Input | undefined
  /**
   * Runs before a model is called; retries send the same. Runs again when the context had to be compacted for the call, and
   * when another model takes over. Input that arrives meanwhile goes with the next call. The messages are made legal again,
   * and change neither log nor transcript. Calls of tools left out are `UnknownTool` in this turn. Blocked: nothing is sent,
   * and the run fails with `HookBlocked`.
   */
  readonly beforeModelCall?: ((call: ModelCall) => Effect.Effect<ModelChange | void, unknown>) | undefined
  /**
   * Runs once an answer is stored, before any of its calls runs. Runs again when another drive takes up the turn before
   * its first call. It returns nothing: a guard that returns anything blocks, as one that fails does. Blocked: no call
   * runs, and the run fails with `HookBlocked`.
   */
  readonly afterModelCall?: ((answer: ModelAnswer) => Effect.Effect<undefined | void, unknown>) | undefined
  /**
   * Runs before anything else is decided about a call: whether it asks a person, and which arguments are used, follows
   * from its decision. The model keeps seeing its own call. Runs again on arguments that a person gave, and when
   * another drive takes up the call before it started, then on those that a person was asked about, if any. So it must
   * leave arguments that it changed before as they are: an answer does not count for other arguments, and the person is
   * asked again. If it changes the arguments of three answers in one drive, the call is `Denied`. Blocked: the call is
   * `Denied`.
   */
  readonly beforeToolCall?: ((call: ToolCall) => Effect.Effect<ToolDecision | void, unknown>) | undefined
  /**
   * Runs before an outcome that says something of a tool is stored or shown to anyone: when the call ran, was answered
   * by a hook or by a person, or is known from a `Reconciler`; guards also run before a preliminary result is shown. What
   * it returns is stored, emitted and shown to the model instead. Blocked: the result is withheld and the outcome is
   * `Failed`; a preliminary result is left out.
   */
  readonly afterToolCall?: ((call: ToolEnded) => Effect.Effect<ToolChange | void, unknown>) | undefined
}

/** Where a hook may run. */
export type Point = Exclude<keyof Hook, "name" | "kind" | "timeout">

/**
 * Hooks of all levels add up: first the agent's options, then its layer's, then the caller's. A hook that is in several
 * of them runs once. Agents that run inside a tool also have the hooks of the run around them.
 */
export const Hooks = Context.Reference<ReadonlyArray<Hook>>("fiberloop/services/Hooks", { defaultValue: () => none })

const none: ReadonlyArray<Hook> = []
