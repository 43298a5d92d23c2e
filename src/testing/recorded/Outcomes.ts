/**
 * The tool calls of a recorded session with their outcomes, and a hook that gives them to the calls of another run.
 *
 * Does not own when a hook is asked, nor what an outcome does to a run.
 */
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import * as Canonical from "../../run/Canonical.ts"
import type * as DurableEvent from "../../run/DurableEvent.ts"
import type * as RunEvent from "../../run/RunEvent.ts"
import * as OpenCall from "../../run/state/OpenCall.ts"
import * as ToolOutcome from "../../run/ToolOutcome.ts"
import type * as Hooks from "../../services/Hooks.ts"

/** A tool call; `callId` is unique in its run. */
export interface Call {
  readonly runId: string
  readonly callId: string
  readonly tool: string
  readonly params: Schema.Json
}

/** The hook, and what a test may ask of it. It is for one replay: what it has given is not given again, except for the last call of a kind. */
export interface Outcomes extends Hooks.Hook {
  /** the calls so far that were not in the recording, in the order in which they were asked about */
  readonly unrecorded: Effect.Effect<ReadonlyArray<Call>>
  /** the calls of the recording whose outcome nobody asked for yet, in their order */
  readonly unmade: Effect.Effect<ReadonlyArray<Call>>
}

export interface Options {
  /** what becomes of a call that the recording has no outcome for: it is `Denied`, or goes on to its tool. Default `deny`. */
  readonly unrecorded?: "deny" | "run"
}

interface Recorded extends Call {
  readonly outcome: ToolOutcome.ToolOutcome
  /** arguments that a call may have to be this one, as canonical JSON: the model's, those a person was asked about, those it ran with */
  readonly known: ReadonlySet<string>
}

export const make = (
  events: ReadonlyArray<RunEvent.Durable>,
  { unrecorded = "deny" }: Options = {}
): Outcomes => {
  const calls = callsOf(events)
  const given = new Map<string, Recorded>()
  const missed = new Map<string, Call>()
  const made = new Set<Recorded>()
  const take = (asked: Hooks.ToolCall): Recorded | undefined => {
    const params = Canonical.canonical(asked.params)
    const same = calls.filter(({ known, tool }) => tool === asked.tool && known.has(params))
    const left = same.filter((call) => !made.has(call))
    return left.find(({ callId, runId }) => callId === asked.callId && runId === asked.runId) ?? left[0] ?? same.at(-1)
  }
  return {
    name: "recorded-outcomes",
    beforeToolCall: (asked) =>
      Effect.sync((): Hooks.ToolDecision | void => {
        const key = keyOf(asked)
        const call = given.get(key) ?? take(asked)
        if (call === undefined) {
          const { callId, params, runId, tool } = asked
          missed.set(key, { runId, callId, tool, params })
          return unrecorded === "run" ? undefined : { _tag: "Deny", reason: "the recording has no such call" }
        }
        made.add(call)
        given.set(key, call)
        const { outcome } = call
        if (outcome._tag === "Denied") return { _tag: "Deny", reason: outcome.reason }
        if (outcome._tag === "Succeeded") return { ...outcome, _tag: "Answer" }
        return { _tag: "Answer", result: "result" in outcome ? outcome.result : null }
      }),
    afterToolCall: (ended) =>
      Effect.sync(() => {
        const outcome = given.get(keyOf(ended))?.outcome
        // a success is the answer itself, and hooks before this one may have changed it
        return outcome === undefined || outcome._tag === "Succeeded" ? undefined : { outcome }
      }),
    unrecorded: Effect.sync(() => [...missed.values()]),
    unmade: Effect.sync(() =>
      calls.filter((call) => !made.has(call)).map(({ callId, params, runId, tool }) => ({
        runId,
        callId,
        tool,
        params
      }))
    )
  }
}

const keyOf = ({ callId, runId, sessionId }: Hooks.ToolCall): string => JSON.stringify([sessionId, runId, callId])

/** The settled calls of a log, in the order in which its model made them. */
const callsOf = (events: ReadonlyArray<RunEvent.Durable>): ReadonlyArray<Recorded> => {
  const found = new Map<string, Call & { readonly known: Set<string> }>()
  const outcomes = new Map<string, ToolOutcome.ToolOutcome>()
  const note = (runId: string, { callId, params, tool }: Omit<Call, "runId">) => {
    const key = `${callId} ${runId}`
    const call = found.get(key) ?? { runId, callId, tool, params, known: new Set<string>() }
    call.known.add(Canonical.canonical(params))
    found.set(key, call)
  }
  for (const event of events) {
    if (event._tag === "AssistantMessage") {
      for (const call of OpenCall.ofMessage(event.message.content, event.turn)) note(event.runId, call)
    } else if (event._tag === "ApprovalRequested" || event._tag === "ToolStarted") note(event.runId, event)
    else if (event._tag === "ToolSettled" && isOfCall(event)) {
      outcomes.set(`${event.callId} ${event.runId}`, told(event))
    }
  }
  return [...found].flatMap(([key, call]) => {
    const outcome = outcomes.get(key)
    return outcome === undefined ? [] : [{ ...call, outcome }]
  })
}

/** The outcome; with arguments that a person edited, as the model reads it, because a hook cannot say that they were. */
const told = ({ edited, outcome }: DurableEvent.Of<"ToolSettled">): ToolOutcome.ToolOutcome => {
  if (edited === undefined) return outcome
  const { isFailure, ...read } = ToolOutcome.toResult(outcome, edited)
  return isFailure ? { _tag: "Failed", result: read.result } : { _tag: "Succeeded", ...read }
}

/**
 * Whether it is known from the call: not one that says that its run was over or at a limit, nor one that a hook gave, since hooks are what
 * is tested.
 */
const isOfCall = ({ hook, outcome: { _tag } }: DurableEvent.Of<"ToolSettled">): boolean =>
  hook === undefined && _tag !== "NotExecuted" && _tag !== "Interrupted"
