/** An agent over the inputs of a recorded session, with tools answered from its log. `evaluate.test.ts` compares the two. */
import { Effect, Stream } from "effect"
import { type Agent, Hooks, SessionStore } from "fiberloop"
import { Recorded } from "fiberloop/testing"

export const logOf = (sessionId: string) => SessionStore.use((store) => Stream.runCollect(store.read(sessionId)))

/** Runs an agent over the inputs of a recorded session, in the new session `to`; gives the result of each, and the calls that are new. */
export const evaluate = Effect.fnUntraced(function*(agent: Agent.Client<string>, from: string, to: string) {
  const events = yield* logOf(from)
  const outcomes = Recorded.outcomes(events)
  const results = yield* Effect.forEach(
    Recorded.inputs(events),
    (input) => Effect.provideService(agent.run({ ...input, sessionId: to }), Hooks, [outcomes])
  )
  return { results, unrecorded: yield* outcomes.unrecorded }
})
