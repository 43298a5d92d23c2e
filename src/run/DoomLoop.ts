/**
 * Whether a run goes round in circles: its settled calls form a trail, and a trail that ends with the same calls and
 * the same results again and again is a loop. New arguments and changed results are progress. Pure and total.
 *
 * Does not own what follows from a loop; that is `RunDecision`.
 */
import * as Schema from "effect/Schema"
import { canonical } from "./Canonical.ts"
import type * as DurableEvent from "./DurableEvent.ts"
import * as Fingerprint from "./state/Fingerprint.ts"
import * as OpenCall from "./state/OpenCall.ts"
import type * as ToolOutcome from "./ToolOutcome.ts"

/**
 * A loop as the log and a result show it: its calls, as they were last made, and how often they were made. Texts of
 * more than 100 characters are cut and end with their digest.
 */
export const Loop = Schema.Struct({
  count: Schema.Finite,
  calls: Schema.Array(Schema.Struct({
    callId: Schema.String,
    tool: Schema.String,
    /** canonical JSON */
    params: Schema.String
  }))
})
export type Loop = typeof Loop.Type

/** A settled call. Two are the same when the tool, the model's arguments and the outcome as the model reads it are. */
export interface Step {
  readonly turn: number
  readonly callId: string
  readonly tool: string
  readonly params: string
  readonly outcome: string
  /** the model was told of the loop that ends here, or a drive ended with it */
  readonly told?: string
}

/** The last calls that a run settled, in call order, whatever order parallel calls settled in. */
export type Trail = ReadonlyArray<Step>

/** How many calls back loops are looked for. */
const longest = 64

/** A step without the names of its fields, which would take most of a trail's space. */
export type Packed = readonly [number, string, string, string, string, string?]

/** A trail as snapshots keep it; `unpack` restores it. */
export const pack = (trail: Trail): ReadonlyArray<Packed> =>
  trail.map(({ callId, outcome, params, told, tool, turn }) => {
    const step = [turn, callId, tool, params, outcome] as const
    return told === undefined ? step : [...step, told]
  })

/** A trail from a snapshot: the one that was packed. */
export const unpack = (steps: ReadonlyArray<Packed>): Trail =>
  steps.map(([turn, callId, tool, params, outcome, told]) => ({
    turn,
    callId,
    tool,
    params,
    outcome,
    ...(told === undefined ? {} : { told })
  }))

type Settled = Pick<DurableEvent.Of<"ToolSettled">, "outcome" | "edited">

/** An outcome that does not show how the call would go is no result. A limit does show it: the call will not run. */
const isResult = (outcome: ToolOutcome.ToolOutcome): boolean =>
  outcome._tag !== "Interrupted" && (outcome._tag !== "NotExecuted" || outcome.reason === "limit")

/** Adds a call, with the arguments that the model gave. */
export const add = (
  trail: Trail,
  call: Pick<OpenCall.OpenCall, "callId" | "params" | "tool" | "turn">,
  { edited, outcome }: Settled
): Trail => {
  if (!isResult(outcome)) return trail
  const { callId, params, tool, turn } = call
  // kept only for comparison, and in every snapshot
  const read = edited === undefined ? outcomeOf(outcome) : textOf([readOf(outcome), edited], Fingerprint.short)
  const step: Step = { turn, callId, tool: Fingerprint.of(tool), params: textOf(params), outcome: read }
  let at = trail.length
  while (at > 0 && isBefore(step, trail[at - 1]!)) at--
  const kept = at === trail.length
    ? [...trail.slice(1 - longest), step]
    : trail.toSpliced(at, 0, step).slice(-longest)
  const gone = trail.length < longest ? undefined : trail[0]
  return gone?.told === undefined ? kept : passOn(kept, gone, gone.told)
}

/** That a loop was told is remembered for as long as its calls come again: a turn may make more of them than are kept. */
const passOn = (trail: Trail, gone: Step, told: string): Trail => {
  const next = trail.find((step) => step.told === undefined && isSame(step, gone))
  return next === undefined ? trail : trail.map((step) => step === next ? { ...step, told } : step)
}

/** In the message of one turn. */
const isBefore = (a: Step, b: Step): boolean =>
  a.turn === b.turn && OpenCall.placeOf(a.callId, a.turn) < OpenCall.placeOf(b.callId, b.turn)

/** Remembers that this loop was told. */
export const tell = (trail: Trail, { calls }: Loop): Trail => {
  const ids = new Set(calls.map((call) => call.callId))
  const told = keyOf(trail.filter((step) => ids.has(step.callId)))
  const last = calls[calls.length - 1]?.callId
  return trail.map((step) => step.callId === last ? { ...step, told } : step)
}

/** An agent's settings for loops. */
export interface Settings {
  /** how often calls must be made to be a loop: 2 to 20 */
  readonly after: number
  /** tools whose calls are ignored */
  readonly exempt: ReadonlyArray<string>
}

/** Three times the same is a loop, whatever the tool. */
export const defaults: Settings = { after: 3, exempt: [] }

/** The loop that a trail ends with, and what to do: tell the model, or, if that did not help, end the drive. */
export interface Verdict {
  readonly next: "tell" | "end"
  readonly loop: Loop
}

/** `undefined` when there is no loop, or when a loop that was told has not come round again since. */
export const judge = (trail: Trail, settings: Settings): Verdict | undefined => {
  const steps = settings.exempt.length === 0 ? trail : trail.filter(({ tool }) => !settings.exempt.includes(tool))
  const found = find(steps, settings.after)
  if (found === undefined) return undefined
  const { count, period } = found
  const calls = steps.slice(-period)
  const key = keyOf(calls)
  const told = steps.findLastIndex((step) => step.told === key)
  if (told >= 0 && steps.length - 1 - told < period) return undefined
  const loop = { count, calls: calls.map(({ callId, params, tool }) => ({ callId, tool, params })) }
  return { next: told < 0 ? "tell" : "end", loop }
}

/** The shortest period that is repeated at least `after` times at the end of `steps`. */
const find = (steps: Trail, after: number): { readonly period: number; readonly count: number } | undefined => {
  const last = steps.length - 1
  const outcome = steps.at(-1)?.outcome
  for (let period = 1; period * after <= steps.length; period++) {
    if (steps[last - period]?.outcome !== outcome) continue
    let same = period
    while (same <= last && isSame(steps[last - same]!, steps[last - same + period]!)) same++
    const count = Math.floor(same / period)
    if (count >= after) return { period, count }
  }
  return undefined
}

const isSame = (a: Step, b: Step): boolean => a.tool === b.tool && a.params === b.params && a.outcome === b.outcome

/** The same key for a loop wherever in it one starts. */
const keyOf = (steps: Trail): string => {
  const texts = steps.map(({ outcome, params, tool }) => canonical([tool, params, outcome]))
  const turned = texts.map((_, i) => [...texts.slice(i), ...texts.slice(0, i)].join())
  return Fingerprint.of(turned.reduce((least, text) => text < least ? text : least, turned[0] ?? ""))
}

/** The tools of a loop, for people: `look and work` */
export const tools = ({ calls }: Loop): string => {
  const names = Array.from(new Set(calls.map(({ tool }) => tool)))
  return [names.slice(0, -1).join(", "), ...names.slice(-1)].filter((name) => name !== "").join(" and ")
}

/** What the model is told about a loop. */
export const notice = (loop: Loop): string =>
  (loop.calls.length === 1
    ? `You called ${tools(loop)} ${loop.count} times with the same arguments, and the result was the same each time.`
    : `You made the same ${loop.calls.length} calls (${tools(loop)}) ${loop.count} times, ` +
      "and their results were the same each time.") +
  " Calling again will not change that: do something else, or answer with what you have."

/** What a model reads of most outcomes is a text, and may be long: it is not turned into JSON first. */
const outcomeOf = (outcome: ToolOutcome.ToolOutcome): string =>
  "result" in outcome && typeof outcome.result === "string" && !("content" in outcome)
    ? Fingerprint.short(`${outcome._tag} ${outcome.result}`)
    : textOf(readOf(outcome), Fingerprint.short)

/** The outcome without a result that its model does not read. */
const readOf = (outcome: ToolOutcome.ToolOutcome): object => {
  if (outcome._tag !== "Succeeded" || outcome.content === undefined) return outcome
  const { result: _, ...read } = outcome
  return read
}

const textOf = (value: unknown, cut = Fingerprint.of): string => {
  try {
    return cut(canonical(value))
  } catch {
    return "(nested too deeply)"
  }
}
