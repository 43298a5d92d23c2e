/** What must hold of a session whose process was killed, before and after the session goes on. Pure. */
import * as Cause from "effect/Cause"
import type * as RunEvent from "../run/RunEvent.ts"
import * as OpenCall from "../run/state/OpenCall.ts"
import * as LogRules from "./LogRules.ts"

/** Something that a tool did in the world. */
export interface Done {
  /** the `ToolCall.idempotencyKey` that it was done with */
  readonly key: string
  /**
   * whether it may have been done twice, or be said to have never run: its tool is declared read-only or idempotent, or its reconciler
   * said that it was not done
   */
  readonly mayRepeat: boolean
}

type Log = ReadonlyArray<RunEvent.Durable>
type Effects = ReadonlyArray<Done> | undefined

/**
 * What the killed process left: the log keeps `LogRules`, nothing was done without a stored intent, nothing is said to have
 * succeeded that was not done, nor to have never run that was done.
 */
export const afterDeath = (sessionId: string, log: Log, effects: Effects): ReadonlyArray<string> => [
  ...LogRules.violations(log, true),
  ...effectsWithoutIntent(sessionId, log, effects),
  ...outcomesWithoutEffect(sessionId, log, effects),
  ...effectsDenied(sessionId, log, effects)
]

/** A session that went on: what was stored is unchanged, every run has its end, nothing was done twice. */
export const afterRecovery = (
  sessionId: string,
  before: Log,
  after: Log,
  effects: Effects
): ReadonlyArray<string> => [
  ...LogRules.violations(after),
  ...lost(before, after),
  ...effectsWithoutIntent(sessionId, after, effects),
  ...outcomesWithoutEffect(sessionId, after, effects),
  ...effectsDenied(sessionId, after, effects),
  ...doneTwice(effects)
]

/** The events among these that the log has lost or changed. */
export const lost = (events: Log, log: Log): ReadonlyArray<string> =>
  events.flatMap((event) =>
    JSON.stringify(log[event.seq - 1]) === JSON.stringify(event)
      ? []
      : [`event ${event.seq} (${event._tag}) is not as it was stored`]
  )

/** Whether the log lacks events up to `confirmed`, the last `seq` that the store had confirmed. */
export const cutShort = (log: Log, confirmed: number): ReadonlyArray<string> => {
  const head = log.at(-1)?.seq ?? 0
  return head >= confirmed ? [] : [`the store had confirmed event ${confirmed}, and its log ends with event ${head}`]
}

/** The key that the handler of this call gets. */
const keyOf = (sessionId: string, event: { readonly runId: string; readonly callId: string }): string =>
  OpenCall.idempotencyKey(sessionId, event.runId, event.callId)

const effectsWithoutIntent = (sessionId: string, log: Log, effects: Effects = []) => {
  const intended = new Set(log.flatMap((event) => event._tag === "ToolStarted" ? [keyOf(sessionId, event)] : []))
  return effects.flatMap(({ key }) => intended.has(key) ? [] : [`${key} was done without a stored intent`])
}

/** A call whose result a person gave needs nothing done. */
const answersIn = (log: Log): ReadonlySet<string> =>
  new Set(log.flatMap((event) =>
    event._tag === "ApprovalResolved" && event.approved && event.result !== undefined
      ? [`${event.runId} ${event.callId}`]
      : []
  ))

const outcomesWithoutEffect = (sessionId: string, log: Log, effects: Effects) => {
  if (effects === undefined) return []
  const answers = answersIn(log)
  const done = new Set(effects.map(({ key }) => key))
  return log.flatMap((event) =>
    event._tag === "ToolSettled" && event.outcome._tag === "Succeeded" && event.hook === undefined &&
      !answers.has(`${event.runId} ${event.callId}`) && !done.has(keyOf(sessionId, event))
      ? [`call ${event.callId} of ${event.tool} is said to have succeeded, and was not done`]
      : []
  )
}

/** No fault where it may repeat: a reconciler that does not know better says so. */
const effectsDenied = (sessionId: string, log: Log, effects: Effects = []) => {
  const done = new Set(effects.flatMap(({ key, mayRepeat }) => mayRepeat ? [] : [key]))
  return log.flatMap((event) =>
    event._tag === "ToolSettled" && event.outcome._tag === "NotExecuted" && done.has(keyOf(sessionId, event))
      ? [`call ${event.callId} of ${event.tool} is said to have never run, and was done`]
      : []
  )
}

const doneTwice = (effects: Effects = []) => {
  const times = new Map<string, number>()
  for (const { key, mayRepeat } of effects) if (!mayRepeat) times.set(key, (times.get(key) ?? 0) + 1)
  return [...times].flatMap(([key, n]) => n > 1 ? [`${key} was done ${n} times`] : [])
}

/** A cause in words, without a stack. */
export const words = (cause: Cause.Cause<unknown>): string => {
  const error = Cause.squash(cause)
  return error instanceof Error ? error.message : String(error)
}
