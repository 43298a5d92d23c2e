/**
 * The layer that makes an agent take up runs that ended with their process, which died or was shut down, or with their store.
 *
 * Does not own which runs those are, nor how one is taken up: `recover` of the agent does that.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import * as Tracer from "effect/Tracer"
import type { Client, Recovered } from "./Client.ts"
import * as Explanation from "./run/Explanation.ts"
import * as InputCheck from "./run/InputCheck.ts"
import * as RunError from "./run/RunError.ts"
import type * as RunInput from "./run/RunInput.ts"
import * as Warning from "./services/Warning.ts"

/** The options of `recovering`. Wrong values are a defect. */
export interface Options extends RunInput.RecoverInput {
  /** time from one search to the next. Default 30 seconds, after which a machine that is gone is known to be gone. */
  readonly every?: Duration.Input | undefined
}

/**
 * While this layer lives, runs of the agent that only their process or their store ended continue here: it searches at once, then
 * again and again. Any number of processes may search: each run continues in one of them. A run that cannot continue is logged as a
 * warning, once, and so is one that fails later. Runs that are taken up have the hooks, observers and other settings of the agent's
 * layer and of this one. `agent` is an agent's service, or what `Agent.make` returns.
 *
 * ```ts
 * const Live = Layer.provideMerge(Agent.recovering(Assistant), Assistant.layer)
 * ```
 */
export const recovering = <A, E = never, R = never>(
  agent: Client<A> | Effect.Effect<Client<A>, E, R>,
  options: Options = {}
): Layer.Layer<never, E, R> =>
  Layer.effectDiscard(Effect.gen(function*() {
    yield* Effect.orDie(Effect.fromResult(InputCheck.options("recovering", options, optionNames)))
    const { every = "30 seconds", ...input } = options
    yield* Effect.orDie(Effect.fromResult(InputCheck.recovery(input)))
    const pause = yield* Effect.orDie(Effect.fromResult(InputCheck.every(every)))
    const client = Effect.isEffect(agent) ? yield* agent : agent
    if (typeof client?.recover !== "function") return yield* noAgent(client)
    let told: ReadonlyMap<string, string> = new Map()
    const tell = Effect.fnUntraced(function*({ refused, runs, stoppedBy }: Recovered<A>) {
      for (const run of runs) yield* Effect.forkChild(Effect.catch(run.result, (error) => failed(run.sessionId, error)))
      const now = new Map(refused.map(({ error, sessionId }) => [sessionId, error.message]))
      for (const [sessionId, message] of now) {
        if (told.get(sessionId) === message) continue
        yield* Effect.logWarning(`session "${sessionId}" cannot be continued: ${message}`)
      }
      told = now
      if (stoppedBy !== undefined) yield* Effect.logWarning(notAll(stoppedBy))
    })
    const look = Effect.catchCause(
      Effect.flatMap(client.recover(input), tell),
      (cause) => Cause.hasInterruptsOnly(cause) ? Effect.void : Effect.logWarning(notAll(RunError.fromCause(cause)))
    )
    // what goes on later is not part of the span in which the layer was built
    const apart = (context: Context.Context<never>) => Context.omit(Tracer.ParentSpan)(context)
    const looking: Effect.Effect<unknown> = Effect.repeat(look, Schedule.spaced(pause))
    yield* Effect.forkScoped(Effect.updateContext(looking, apart))
  }))

const optionNames: Record<keyof Options, true> = { every: true, limit: true, answered: true, within: true }

/** Untyped code may pass anything. */
const noAgent = (given: unknown): Effect.Effect<never> =>
  Effect.die(RunError.invalidInput(
    "agent",
    `recovering takes an agent's service, or what Agent.make returns, not ${Warning.whatIs(given)}`
  ))

/** Nobody else waits for its result. */
const failed = (sessionId: string, error: RunError.RunError) =>
  Effect.logWarning(`session "${sessionId}" has not been continued to its end: ${Explanation.ofError(error)}`)

const notAll = ({ message }: RunError.RunError) =>
  `the search for runs that other processes left stopped early: ${message}`
