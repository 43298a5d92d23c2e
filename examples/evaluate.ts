/** An agent over the inputs of a recorded session, with tools answered from its log. `evaluate.test.ts` compares the two. */
import { Effect, Equal, type Schema, Stream } from "effect"
import { type Agent, type Hook, Hooks, type RunEvent, SessionStore } from "fiberloop"

type Events = ReadonlyArray<RunEvent.Durable>

const callsOf = (events: Events) => {
  const started = new Map<string, Extract<RunEvent.Durable, { _tag: "ToolStarted" }>>()
  return events.flatMap((event) => {
    if (event._tag === "ToolStarted") started.set(`${event.runId} ${event.callId}`, event)
    const call = event._tag === "ToolSettled" ? started.get(`${event.runId} ${event.callId}`) : undefined
    return event._tag !== "ToolSettled" || call === undefined ? [] : [{ ...call, outcome: event.outcome }]
  })
}

/** Gives each call the outcome that the log has for the same tool and arguments, one after the other; no tool runs. */
export const answeredFrom = (events: Events): Hook => {
  const calls = callsOf(events)
  const same = (asked: { tool: string; params: Schema.Json }) =>
    calls.filter(({ params, tool }) => tool === asked.tool && Equal.equals(params, asked.params))
  return {
    name: "answered-from-log",
    beforeToolCall: (asked) =>
      Effect.sync(() =>
        same(asked).length === 0
          ? { _tag: "Deny", reason: "the recording has no such call" }
          : { _tag: "Answer", result: null }
      ),
    afterToolCall: (asked) =>
      Effect.sync(() => {
        const [call, ...later] = same(asked)
        if (call !== undefined && later.length > 0) calls.splice(calls.indexOf(call), 1)
        return call && { outcome: call.outcome }
      })
  }
}

export const logOf = (sessionId: string) => SessionStore.use((store) => Stream.runCollect(store.read(sessionId)))

/** Runs an agent over the inputs of a recorded session, in the new session `to`; gives the result of each. */
export const evaluate = Effect.fnUntraced(function*(agent: Agent.Client<string>, from: string, to: string) {
  const recorded = yield* logOf(from)
  const hooks = [answeredFrom(recorded)]
  const inputs = recorded.flatMap((event) => event._tag === "RunStarted" ? [event.input] : [])
  return yield* Effect.forEach(
    inputs,
    ({ data, messages }) => Effect.provideService(agent.run({ sessionId: to, input: messages, data }), Hooks, hooks)
  )
})
