/**
 * The contract of a language model as the loop sees it: one request in, a stream of parts out, typed errors.
 *
 * Does not own retries, time limits or what to do with a tool call; the loop does.
 */
import type * as Tool from "effect/ai/Tool"
import * as Context from "effect/Context"
import type * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"
import type * as Message from "../run/Message.ts"
import type * as RunError from "../run/RunError.ts"
import type * as RunEvent from "../run/RunEvent.ts"
import type * as Source from "../run/Source.ts"
import type * as Usage from "../run/Usage.ts"

/** Whether the model may call tools, must not, must call one, or must call this one, by name. */
export type ToolChoice = "auto" | "none" | "required" | { readonly tool: string }

/** The tools that a model is offered. */
export type Tools = ReadonlyArray<Tool.Any>

/** What a final answer must fit: its name for the provider, and the schema of its JSON. */
export interface Output {
  readonly name: string
  readonly schema: Schema.ConstraintCodec<unknown, unknown, never, never>
}

/** `messages` is legal for the strictest provider: made by `run/Transcript`, instructions first. */
export interface ModelRequest {
  readonly messages: ReadonlyArray<Message.Message>
  readonly tools: Tools
  readonly toolChoice: ToolChoice
  /**
   * For providers that can hold an answer to a schema, also beside tools. A `Model` may ignore it: the system message
   * asks for it in words, and the loop checks the answer.
   */
  readonly output?: Output
  /**
   * The last message is the model's own: its provider paused in it (finish reason `pause`), and goes on with it if it is
   * sent back as it is, with the calls that it has not answered yet. Without this the last message is never the model's.
   */
  readonly continues?: true
  readonly metadata: {
    readonly sessionId: string
    readonly runId: string
    /** counts from 1 */
    readonly turn: number
    /** counts from 1 in each turn; 0 is a call made by a context strategy */
    readonly attempt: number
  }
}

/**
 * What a stream emits, in the provider's order. `block` names the part that a delta belongs to: a text, a reasoning or
 * a tool call, by its id. Provider metadata may come with a delta, `block-start` or `block-end`; per key, the last one
 * of a block counts. A `tool-call` is complete: `params` is a JSON value, or the raw text if that was not JSON. A
 * stream that ends without a `finish` was cut. An answer with a call or a result without a name, or a file without its texts, is an
 * `InvalidResponse`. A reason that is no `FinishReason` counts as `other`, and one that is no text as `unknown`.
 */
export type ModelPart =
  | {
    readonly type: "text-delta"
    readonly block: string
    readonly delta: string
    readonly metadata?: Message.Metadata
  }
  | {
    readonly type: "reasoning-delta"
    readonly block: string
    readonly delta: string
    readonly metadata?: Message.Metadata
  }
  | {
    readonly type: "tool-params-delta"
    readonly block: string
    /** at least in the block's first delta */
    readonly tool?: string
    readonly delta: string
  }
  | {
    readonly type: "block-start" | "block-end"
    readonly kind: "text" | "reasoning" | "tool-params"
    readonly block: string
    readonly metadata?: Message.Metadata
  }
  | {
    readonly type: "tool-call"
    readonly id: string
    readonly name: string
    readonly params: Schema.Json
    readonly providerExecuted?: boolean
    readonly metadata?: Message.Metadata
  }
  /** the result of a call that the provider executed itself */
  | {
    readonly type: "tool-result"
    readonly id: string
    readonly name: string
    readonly result: Schema.Json
    readonly isFailure: boolean
    readonly metadata?: Message.Metadata
  }
  | { readonly type: "file"; readonly mediaType: string; readonly data: string; readonly metadata?: Message.Metadata }
  /** what the answer rests on: it may come at any time before the finish, also within a block, and more than once */
  | { readonly type: "source"; readonly source: Source.Source }
  /** what the provider says about its answer; `usage` is what it has used so far, and a finish replaces it */
  | { readonly type: "response"; readonly id?: string; readonly model?: string; readonly usage?: Usage.Usage }
  | { readonly type: "finish"; readonly reason: RunEvent.FinishReason; readonly usage: Usage.Usage }

/** `provider` and `name` decide who may read a message's reasoning; sizes in tokens. */
export interface ModelInfo extends Message.ModelRef {
  readonly contextWindow?: number
  readonly maxOutput?: number
}

/** Tokens that a model's answer may take: a fifth of its window, or less where its answers are shorter; `Infinity` where neither is known. */
export const answerRoom = (
  { contextWindow = Infinity, maxOutput = Infinity }: Pick<ModelInfo, "contextWindow" | "maxOutput">
): number => Math.min(maxOutput, contextWindow * 0.2)

/** The next model, and whether it is asked after a failure of the one before. */
export interface Fallback {
  readonly to: Model["Service"]
  readonly when: (error: RunError.ModelError) => boolean
}

/** One model: what it is, and a stream of the parts of its answer, or a typed error that says whether to try again. */
export class Model extends Context.Service<Model, {
  readonly info: ModelInfo
  /**
   * The model that takes over the rest of a run once a failure of this one is final. The loop switches, so that the log
   * says which model made what, and each model gets messages that are legal for it.
   */
  readonly fallback?: Fallback
  /**
   * Asks the model once. Fails with a retryable or a non-retryable provider reason; nothing that a provider does is a
   * defect. Interrupting it closes the connection before the interruption ends. Nothing is read after the `finish`: the stream
   * is closed, with a success, so what a model around this one does at its end has to be done on the `finish`, or on its exit.
   */
  readonly stream: (request: ModelRequest) => Stream.Stream<ModelPart, RunError.ModelError>
}>()("fiberloop/services/Model") {}

/** A model and those that may take over from it, in order. */
export const chainOf = (model: Model["Service"]): ReadonlyArray<Model["Service"]> => {
  const chain: Array<Model["Service"]> = []
  for (
    let next: typeof model | undefined = model;
    next !== undefined && !chain.includes(next);
    next = next.fallback?.to
  ) {
    chain.push(next)
  }
  return chain
}

/** A model as the log names it. */
export const refOf = ({ name, provider }: ModelInfo): Message.ModelRef => ({ provider, name })
