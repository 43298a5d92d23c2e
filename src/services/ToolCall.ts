/**
 * What the handler of a tool may ask about its own call, and what it may do in the call's name: wait for people, have agents
 * work for it.
 *
 * Does not own what becomes of a call that waits (`Pausing`).
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import type * as Pointer from "../run/Pointer.ts"
import type * as RunError from "../run/RunError.ts"
import type * as RunInput from "../run/RunInput.ts"
import type * as RunResult from "../run/RunResult.ts"
import { Pausing } from "./Pausing.ts"

/**
 * Declare `dependencies: [ToolCall]` on the tool and `yield* ToolCall` in the handler. The executor provides it per call, so it
 * never reaches an agent's requirements.
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
