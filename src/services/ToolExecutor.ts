/**
 * The contract of running one tool call: progress and exactly one outcome, never a failure; none while it waits for people.
 *
 * Does not own which calls run, in what order, or whether they may; the loop does.
 */
import type * as Tool from "effect/ai/Tool"
import type * as Toolkit from "effect/ai/Toolkit"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type * as Message from "../run/Message.ts"
import type * as Pointer from "../run/Pointer.ts"
import type * as ToolOutcome from "../run/ToolOutcome.ts"
import type * as Usage from "../run/Usage.ts"
import type { ToolCall } from "./ToolCall.ts"

/** A toolkit whose handlers are resolved. */
export interface Handlers extends Toolkit.WithHandler<Record<string, Tool.Any>> {
  /** A context with each tool's handler under the tool's id, as a toolkit's layer leaves it; `handle` then calls the same handlers. */
  readonly foundIn?: Context.Context<never>
}

/** One call to be made: its tool and arguments, its time limit, and what the handler gets as `ToolCall`. */
export interface Call {
  readonly name: string
  readonly params: Schema.Json
  readonly timeout: Duration.Duration
  readonly identity: ToolCall["Service"]
}

/** Who is told of a call while it runs. */
export interface Observer {
  /** a preliminary result; the handler waits for it */
  readonly progress: (value: Schema.Json) => Effect.Effect<void>
  /** The handler did not end within the grace period and was left running; `outcome` is what the call gets for that. */
  readonly leftBehind: (outcome: ToolOutcome.ToolOutcome) => Effect.Effect<void>
}

/** The one outcome of a call, and what it took. */
export interface Settlement {
  readonly outcome: ToolOutcome.ToolOutcome
  /** characters of the result's JSON before it was truncated; absent if it was not */
  readonly originalSize?: number
  /** what the call spent elsewhere; runs of this process that work for it are counted anyway */
  readonly usage?: Usage.Usage
}

/** The call has no outcome yet: it is made again when its run is resumed, after people may have answered the questions of these runs. */
export interface Paused {
  readonly waitsFor: ReadonlyArray<Pointer.Run>
}

/** The members of the `Succeeded` that a call is settled with; `originalSize` as a settlement's. */
export interface Answered extends Pick<Settlement, "originalSize"> {
  readonly result: Schema.Json
  readonly content?: ToolOutcome.Content
}

/** A call that may need permission. `messages` is called only when a tool's own rule reads the conversation. */
export interface Candidate {
  readonly name: string
  readonly params: Schema.Json
  readonly callId: string
  readonly messages: () => ReadonlyArray<Message.Message>
}

/** Whether a call asks, or the outcome of one that will not run. */
export type Asks = boolean | ToolOutcome.ToolOutcome

/** Runs the calls that models make, and answers for their tools: what needs permission, what may be repeated. */
export class ToolExecutor extends Context.Service<ToolExecutor, {
  /**
   * Whether a person must allow this call first: the tool says so, is explicitly destructive, needs a person's result, or
   * says nothing and `byDefault` is `true`. When the tool's rule fails, the answer is yes. Where the arguments of a call that may
   * need permission do not decode, nobody is asked: the answer is the outcome of the call, which is never executed, because
   * arguments may decode later that do not now.
   */
  readonly needsApproval: (handlers: Handlers, call: Candidate, byDefault: boolean) => Effect.Effect<Asks>
  /** Why the tool's handler cannot take these arguments, in words; `undefined` if it can. */
  readonly problemOf: (handlers: Handlers, name: string, params: Schema.Json) => Effect.Effect<string | undefined>
  /**
   * What a call is settled with when a person gave its result: read by the tool's success schema, then written and cut as a
   * handler's result is. Fails with what is wrong with it, in words.
   */
  readonly answeredWith: (handlers: Handlers, name: string, result: Schema.Json) => Effect.Effect<Answered, string>
  /** Only a person's result is an answer of this tool; see `NeedsResult`. */
  readonly needsResult: (handlers: Handlers, name: string) => boolean
  /** The tool says that it may run again when nobody saw how it ended: it is read-only or idempotent. */
  readonly isRepeatable: (handlers: Handlers, name: string) => boolean
  /**
   * Runs one call: decodes its arguments, limits its time, encodes and truncates its result. Every failure and defect of the
   * handler is an outcome; a handler that waits for other runs has none yet. Interrupting it interrupts the handler, waits for
   * it at most the grace period, and then leaves it behind.
   */
  readonly execute: (handlers: Handlers, call: Call, observer: Observer) => Effect.Effect<Settlement | Paused>
}>()("fiberloop/services/ToolExecutor") {}
