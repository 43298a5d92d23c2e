/**
 * The contract of running one tool call: progress and exactly one outcome, never a failure; none while it waits for people.
 *
 * Does not own which calls run, in what order, or whether they may; the loop does.
 */
import type * as Tool from "effect/ai/Tool"
import type * as Toolkit from "effect/ai/Toolkit"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import type * as Message from "../run/Message.ts"
import type * as Pointer from "../run/Pointer.ts"
import type * as RunError from "../run/RunError.ts"
import type * as RunInput from "../run/RunInput.ts"
import type * as RunResult from "../run/RunResult.ts"
import type * as ToolOutcome from "../run/ToolOutcome.ts"
import type * as Usage from "../run/Usage.ts"
import { Pausing } from "./Pausing.ts"

/**
 * What a handler may ask about its own call: declare `dependencies: [ToolCall]` on the tool and `yield* ToolCall` in the
 * handler. The executor provides it per call, so it never reaches an agent's requirements.
 */
export class ToolCall extends Context.Service<ToolCall, {
  readonly sessionId: string
  readonly runId: string
  /** unique in the run */
  readonly callId: string
  /** the same on every try at this call, unique among all sessions: give it to whatever must not happen twice */
  readonly idempotencyKey: string
  /** tries at this call, from 1; more than 1 where a process died in the one before, or it paused */
  readonly attempt: number
  /** the run's `data` */
  readonly data: Schema.Json | undefined
}>()("fiberloop/ToolCall") {
  /**
   * Ends the handler, whose call waits for people with these runs, results that are `Suspended`: the run around it ends
   * `Suspended` too, unless it has other calls to run first, and lists their questions. Once it is resumed the handler is
   * called again, with the same `idempotencyKey`.
   */
  static readonly pause = (
    ...runs: readonly [Pointer.Run, ...ReadonlyArray<Pointer.Run>]
  ): Effect.Effect<never> => Effect.die(new Pausing(runs))

  /**
   * Has an agent work for this call, and gives its answer, decoded where it has an output schema. The run has the call's
   * `idempotencyKey` for its id, unless the input names one: where the call is made again, after a crash or once people have
   * answered, it goes on with that run. While the run waits for people the call does, as by `pause`. Fails with what the model
   * is to read where there is no answer: the error's message, or how the run ended and what it said last.
   */
  static readonly runAgent = <S extends SubAgent>(
    agent: S,
    input: RunInput.RunInput
  ): Effect.Effect<Answer<S>, string, ToolCall> =>
    Effect.flatMap(ToolCall, ({ idempotencyKey }) => Effect.flatMap(ended(agent, input, idempotencyKey), answerOf<S>))

  /**
   * Has an agent work for this call as often as there are inputs, at most `concurrency` (default 4) at once, and gives the
   * answers in their order. Each runs as by `runAgent`, with `{idempotencyKey}/{place, from 0}` for its id, and to its end:
   * those that wait for people, or fail, hold up none of the others. Then the call waits for all that do; where none does, it
   * fails as the first one in order that came to no answer.
   */
  static readonly runAgents = <S extends SubAgent>(
    agent: S,
    inputs: ReadonlyArray<RunInput.RunInput>,
    { concurrency = 4 }: { readonly concurrency?: number | "unbounded" | undefined } = {}
  ): Effect.Effect<ReadonlyArray<Answer<S>>, string, ToolCall> =>
    Effect.gen(function*() {
      const { idempotencyKey } = yield* ToolCall
      const runs = inputs.map((input, at) => ended(agent, input, `${idempotencyKey}/${at}`))
      const all = yield* Effect.all(runs, { concurrency })
      const [first, ...more] = all.flatMap((run) =>
        Result.isSuccess(run) && isWaiting(run.success) ? [run.success] : []
      )
      if (first !== undefined) return yield* ToolCall.pause(first, ...more)
      return yield* Effect.forEach(all, answerOf<S>)
    })
}

/** An agent, as `Agent.Client` has it. */
interface SubAgent {
  readonly run: (input: RunInput.RunInput) => Effect.Effect<RunResult.RunResult<unknown>, RunError.RunError>
}

type Answer<S extends SubAgent> = Extract<
  Effect.Success<ReturnType<S["run"]>>,
  { readonly _tag: "Completed" }
>["output"]

type Ended = Result.Result<RunResult.RunResult<unknown>, RunError.RunError>

const ended = (agent: SubAgent, input: RunInput.RunInput, runId: string): Effect.Effect<Ended> =>
  Effect.result(agent.run({ ...input, runId: input.runId ?? runId }))

const isWaiting = (result: RunResult.RunResult<unknown>) => result._tag === "Suspended"

const answerOf = <S extends SubAgent>(run: Ended): Effect.Effect<Answer<S>, string> => {
  if (Result.isFailure(run)) return Effect.fail(run.failure.message)
  const { success: result } = run
  if (isWaiting(result)) return ToolCall.pause(result)
  if (result._tag === "Completed") return Effect.succeed(result.output as Answer<S>)
  return Effect.fail(result.text === "" ? result.explain : `${result.explain} It said last:\n${result.text}`)
}

/** A toolkit whose handlers are resolved. */
export interface Handlers extends Toolkit.WithHandler<Record<string, Tool.Any>> {
  /** Where each tool's handler is to be found by the tool's id, as a toolkit's layer leaves it; `handle` then does the same. */
  readonly foundIn?: Context.Context<never>
}

export interface Call {
  readonly name: string
  readonly params: Schema.Json
  readonly timeout: Duration.Duration
  readonly identity: ToolCall["Service"]
}

export interface Observer {
  /** a preliminary result; the handler waits for it */
  readonly progress: (value: Schema.Json) => Effect.Effect<void>
  /** The handler did not end within the grace period and was left running; `outcome` is what that makes of the call. */
  readonly leftBehind: (outcome: ToolOutcome.ToolOutcome) => Effect.Effect<void>
}

export interface Settlement {
  readonly outcome: ToolOutcome.ToolOutcome
  /** characters of the result's JSON before it was truncated; absent where it was not */
  readonly originalSize?: number
  /** what the call spent elsewhere: runs of this process that work for it are counted without it */
  readonly usage?: Usage.Usage
}

/** The call has no outcome yet: it is made again when its run is resumed, by when people may have answered what these runs ask. */
export interface Paused {
  readonly waitsFor: ReadonlyArray<Pointer.Run>
}

/** A result as the model reads it; `originalSize` as a settlement's. */
export interface Answered extends Pick<Settlement, "originalSize"> {
  readonly result: Schema.Json
}

/** A call whose permission is in question. `messages` is made when a tool's own rule wants to read the conversation. */
export interface Candidate {
  readonly name: string
  readonly params: Schema.Json
  readonly callId: string
  readonly messages: () => ReadonlyArray<Message.Message>
}

export class ToolExecutor extends Context.Service<ToolExecutor, {
  /**
   * Whether a person must allow this call first: the tool says so, is explicitly destructive, needs a person's result, or
   * says nothing where `byDefault` asks. When the tool's rule fails, the call asks. Arguments that do not decode need no
   * permission: the call will not run.
   */
  readonly needsApproval: (handlers: Handlers, call: Candidate, byDefault: boolean) => Effect.Effect<boolean>
  /** What keeps these arguments from the tool's handler, in words; `undefined` where nothing does. */
  readonly problemOf: (handlers: Handlers, name: string, params: Schema.Json) => Effect.Effect<string | undefined>
  /**
   * What a call is settled with where a person gave its result: as the tool's success schema reads it, then written and cut
   * as a handler's. Fails with what is wrong with it, in words.
   */
  readonly answeredWith: (handlers: Handlers, name: string, result: Schema.Json) => Effect.Effect<Answered, string>
  /** Only a person's result is an answer of this tool; see `NeedsResult`. */
  readonly needsResult: (handlers: Handlers, name: string) => boolean
  /** The tool says that it may run again after nobody saw how it ended: it is read-only or idempotent. */
  readonly isRepeatable: (handlers: Handlers, name: string) => boolean
  /**
   * Runs one call: decodes its arguments, limits its time, encodes and truncates its result. Every failure and defect of
   * the handler is an outcome; one that waits for other runs has none. Interrupting it interrupts the handler, waits for it at
   * most the grace period, and then leaves it behind.
   */
  readonly execute: (handlers: Handlers, call: Call, observer: Observer) => Effect.Effect<Settlement | Paused>
}>()("fiberloop/services/ToolExecutor") {}
