/**
 * What a tool's handler can ask about its own call, and do on the call's behalf: wait for people, have agents work for it.
 *
 * Does not own how such an agent's run is begun and read (`SubAgents`), nor what becomes of a call that waits (`Pausing`).
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import type * as Pointer from "../run/Pointer.ts"
import type * as RunInput from "../run/RunInput.ts"
import { Pausing } from "./Pausing.ts"
import * as SubAgents from "./SubAgents.ts"

/**
 * Declare `dependencies: [ToolCall]` on the tool and `yield* ToolCall` in the handler. The executor provides it per call, so it
 * never reaches an agent's requirements.
 */
export class ToolCall extends Context.Service<ToolCall, {
  readonly sessionId: string
  readonly runId: string
  /** unique in the run */
  readonly callId: string
  /**
   * the same on every try at this call, unique among the sessions of a store, at most 195 characters: pass it to whatever must not
   * happen twice
   */
  readonly idempotencyKey: string
  /** tries at this call, from 1; more than 1 where the one before ended with its process or its store, or paused */
  readonly attempt: number
  /** the run's `data` */
  readonly data: Schema.Json | undefined
}>()("fiberloop/services/ToolCall") {
  /**
   * Ends the handler: its call waits until people have answered these runs, which are results that are `Suspended`. The
   * run around it ends `Suspended` too, unless it has other calls to run first, and lists their questions. Once that run
   * is resumed, the handler is called again, with the same `idempotencyKey`.
   */
  static readonly pause = (
    ...runs: readonly [Pointer.Run, ...ReadonlyArray<Pointer.Run>]
  ): Effect.Effect<never> => Effect.die(new Pausing(runs))

  /**
   * Has an agent work for this call, and returns its answer, decoded if it has an output schema. The run's id is the call's
   * `idempotencyKey`, unless the input names one: when the call is made again, after a crash or once people have answered, it
   * continues that run. While the run waits for people, so does the call, as by `pause`. Without an answer, it fails with what
   * the model reads instead: the error's message, or how the run ended and what it said last. Where the run was shut down, it first
   * waits for the same to end the call's own run, for five times `Grace`.
   *
   * `progress` gets what the agent has said in its turn so far, as often as that has grown by an eighth, and when its answer has
   * ended: pass a handler's `preliminary`, if the tool's result is a text. It holds up the run as little as an observer does: the
   * last of it may come after the answer, when `preliminary` shows nothing more.
   */
  static runAgent<S extends SubAgents.SubAgent>(
    agent: S,
    input: RunInput.RunInput,
    { progress }: { readonly progress?: ((said: string) => Effect.Effect<void>) | undefined } = {}
  ): Effect.Effect<SubAgents.Answer<S>, string, ToolCall> {
    return Effect.flatMap(
      ToolCall,
      ({ idempotencyKey }) =>
        Effect.flatMap(SubAgents.run(agent, input, idempotencyKey, progress), (ended) => {
          const waiting = SubAgents.waiting(ended)
          const told = waiting === undefined ? SubAgents.answerOf<S>(ended) : ToolCall.pause(waiting)
          return Effect.andThen(SubAgents.untilShutDown([ended]), told)
        })
    )
  }

  /**
   * Has an agent work for this call once per input, at most `concurrency` (default 4) at a time, and returns the answers in
   * order. Each runs as by `runAgent`, with the id `{idempotencyKey}/{place, from 0}`, and to its end: those that wait for
   * people, or fail, hold up none of the others. Then the call waits for all runs that wait for people; if none does, it
   * fails as the first run in order that has no answer. With `mode: "result"`, as in `Effect.all`, it returns for each its
   * answer or why there is none, and does not fail.
   *
   * `progress` gets what each has said in its turn so far, in order, as often as what one has said has grown by an eighth, and when
   * its answer has ended.
   */
  static runAgents<S extends SubAgents.SubAgent>(
    agent: S,
    inputs: ReadonlyArray<RunInput.RunInput>,
    options: Several & { readonly mode: "result" }
  ): Effect.Effect<ReadonlyArray<Result.Result<SubAgents.Answer<S>, string>>, never, ToolCall>
  static runAgents<S extends SubAgents.SubAgent>(
    agent: S,
    inputs: ReadonlyArray<RunInput.RunInput>,
    options?: Several & { readonly mode?: "default" | undefined }
  ): Effect.Effect<ReadonlyArray<SubAgents.Answer<S>>, string, ToolCall>
  static runAgents(
    agent: SubAgents.SubAgent,
    inputs: ReadonlyArray<RunInput.RunInput>,
    options: Several & { readonly mode?: "default" | "result" | undefined } = {}
  ): Effect.Effect<ReadonlyArray<unknown>, string, ToolCall> {
    return runAll(agent, inputs, options)
  }
}

interface Several {
  readonly concurrency?: number | "unbounded" | undefined
  readonly progress?: ((said: ReadonlyArray<string>) => Effect.Effect<void>) | undefined
}

const runAll = Effect.fnUntraced(function*(
  agent: SubAgents.SubAgent,
  inputs: ReadonlyArray<RunInput.RunInput>,
  { concurrency = 4, mode, progress }: Several & { readonly mode?: "default" | "result" | undefined }
): Effect.fn.Return<ReadonlyArray<unknown>, string, ToolCall> {
  const { idempotencyKey } = yield* ToolCall
  const said = inputs.map(() => "")
  const telling = (at: number) =>
    progress && ((text: string) => {
      said[at] = text
      return progress([...said])
    })
  const runs = inputs.map((input, at) => SubAgents.run(agent, input, `${idempotencyKey}/${at}`, telling(at)))
  const ended = yield* Effect.all(runs, { concurrency })
  yield* SubAgents.untilShutDown(ended)
  const [first, ...more] = ended.flatMap((run) => SubAgents.waiting(run) ?? [])
  if (first !== undefined) return yield* ToolCall.pause(first, ...more)
  const answers = ended.map(SubAgents.answerOf)
  return yield* mode === "result" ? Effect.all(answers, { mode }) : Effect.all(answers)
})
