/**
 * The layer by which an agent takes up what was left by processes that died.
 *
 * Does not own which runs those are, nor how one is taken up: `recover` of the agent does that.
 */
import type * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import type { Client } from "./Client.ts"
import * as InputCheck from "./run/InputCheck.ts"
import type * as RunInput from "./run/RunInput.ts"

/** What `recovering` takes. Wrong values are a defect. */
export interface Options extends RunInput.RecoverInput {
  /** from one look to the next. Default 30 seconds, after which a machine that is gone is known to be gone. */
  readonly every?: Duration.Input | undefined
}

/**
 * While this layer lives, runs of the agent whose process died go on here: looks for them at once, and again and again. Any number
 * of processes may look: each run goes on in one. What cannot go on is logged as a warning, once.
 *
 * ```ts
 * const Live = Layer.provideMerge(Agent.recovering(Assistant), Assistant.layer)
 * ```
 */
export const recovering = <Self, A>(
  agent: Context.Key<Self, Client<A>>,
  { every = "30 seconds", ...input }: Options = {}
): Layer.Layer<never, never, Self> =>
  Layer.effectDiscard(Effect.gen(function*() {
    yield* Effect.orDie(Effect.fromResult(InputCheck.recovery(input)))
    const { recover } = yield* agent
    const told = new Map<string, string>()
    const tell = (sessionId: string, message: string) => {
      if (told.get(sessionId) === message) return Effect.void
      told.set(sessionId, message)
      return Effect.logWarning(`session "${sessionId}" cannot go on: ${message}`)
    }
    const look = recover(input).pipe(
      Effect.flatMap(({ refused }) =>
        Effect.forEach(refused, ({ error, sessionId }) => tell(sessionId, error.message), { discard: true })
      ),
      Effect.catch(({ message }) => Effect.logWarning(`runs that were left are not looked for: ${message}`))
    )
    yield* Effect.forkScoped(Effect.repeat(look, Schedule.spaced(every)))
  }))
