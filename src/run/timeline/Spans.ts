/**
 * The spans of the turns of a drive: each is held until its turn is over, so that the spans of a turn come in the order
 * in which they began. Total and pure, like `Timeline`, which this is a part of.
 *
 * Does not own drives, nor what comes between them (`Timeline`).
 */
import type * as DurableEvent from "../DurableEvent.ts"
import * as Message from "../Message.ts"
import type * as RunEvent from "../RunEvent.ts"
import * as OpenCall from "../state/OpenCall.ts"
import type * as Timeline from "../Timeline.ts"
import * as Usage from "../Usage.ts"
import * as CallBegin from "./CallBegin.ts"

/** A span without its place. */
export type Found = Omit<Timeline.Span, "_tag" | "runId" | "drive">

/** What began and has no end yet. */
interface Begun {
  readonly name: string
  readonly turn: number
  readonly seq: number
  readonly at: number
}

export interface Spans {
  readonly turn: number
  /** the model call under way */
  readonly calling: Begun | undefined
  /** calls at work, by id */
  readonly started: ReadonlyMap<string, Begun>
  /** questions that wait, by the id of their call; a later drive may see their answer */
  readonly asked: ReadonlyMap<string, Begun>
  /** those of the turn under way that have ended */
  readonly held: ReadonlyArray<Found>
  /** when something was last recorded */
  readonly at: number
}

export const empty: Omit<Spans, "at"> = {
  turn: 0,
  calling: undefined,
  started: new Map(),
  asked: new Map(),
  held: []
}

type Step = readonly [Spans, ReadonlyArray<Found>]

/** The spans after an event that neither begins nor ends a drive, and the spans of a turn that ended with it. */
export const step = (self: Spans, event: RunEvent.Durable): Step => {
  switch (event._tag) {
    case "TurnStarted": {
      const [next, found] = flush(self)
      return [{ ...next, turn: event.turn, calling: begin(event, Message.modelName(event.model), event.turn) }, found]
    }
    case "AttemptDiscarded":
      return [discard(self, event), []]
    case "ModelSwitched":
      return [{ ...self, calling: begin(event, Message.modelName(event.to), event.turn) }, []]
    case "AssistantMessage": {
      const { finishReason, model, turn, usage } = event
      const from = self.calling ?? begin(event, Message.modelName(model), turn)
      return [hold({ ...self, turn, calling: undefined }, "model", from, event.at, finishReason, { usage }), []]
    }
    case "ToolStarted":
      return [{ ...self, started: withEntry(self.started, event.callId, begin(event, event.tool, event.turn)) }, []]
    case "ToolPaused": {
      const { at, callId, tool, turn } = event
      const begun = self.started.get(callId) ?? begin(event, tool, turn)
      return [hold({ ...self, started: without(self.started, callId) }, "tool", begun, at, "Paused", { callId }), []]
    }
    case "ToolSettled": {
      const { at, callId, duration, outcome, tool, turn } = event
      const begun = self.started.get(callId) ?? begin(event, tool, turn)
      const rest = { ...self, started: without(self.started, callId), asked: without(self.asked, callId) }
      return [hold(rest, "tool", begun, Math.min(at, begun.at + duration), outcome._tag, { callId }), []]
    }
    case "ApprovalRequested":
      return [{ ...self, asked: withEntry(self.asked, event.callId, begin(event, event.tool, event.turn)) }, []]
    case "ApprovalResolved": {
      const { at, callId } = event
      const begun = self.asked.get(callId)
      if (begun === undefined) return [self, []]
      const rest = { ...self, asked: without(self.asked, callId) }
      return [hold(rest, "approval", begun, at, OpenCall.wordOf(event), { callId }), []]
    }
    case "ContextCompacted": {
      // it began when the event before it was recorded
      const begun = { ...begin(event, event.strategy, self.turn), at: self.at }
      const more = { usage: event.usage, ...(event.cause === undefined ? {} : { cause: event.cause }) }
      return [hold(self, "compaction", begun, event.at, `${event.after} of ${event.before} messages`, more), []]
    }
    case "CompactionDiscarded": {
      const begun = { ...begin(event, "", self.turn), at: self.at }
      const to = isPassedOver(event) ? begun.at : event.at
      return [hold(self, "compaction", begun, to, "failed", { usage: event.usage }), []]
    }
    case "TurnFinished": {
      const { firstPart } = event.latency
      const held = self.held.map((span) => span.kind === "model" ? { ...span, firstPart } : span)
      return flush({ ...self, held })
    }
    default:
      return [self, []]
  }
}

/**
 * Whether it is a strategy in whose place another one of the same compaction was taken: what it cost, and its time, are the
 * compaction's, which is recorded next. One that was the last is recorded only if it cost something.
 */
export const isPassedOver = (event: RunEvent.Durable): boolean =>
  event._tag === "CompactionDiscarded" && event.lost === undefined && Usage.isNothing(event.usage)

/** The spans at a drive's end at `at`: what is still open had no end in it; `usage` is that of a model call that was cut off. */
export const end = (self: Spans, at: number, usage: Usage.Usage | undefined): Step => {
  const { asked, calling, started } = self
  const open = [
    ...(calling === undefined || calling.at > at
      ? []
      : [{ kind: "model", begun: calling, ...(usage === undefined ? {} : { usage }) } as const]),
    ...Array.from(started, ([callId, begun]) => ({ kind: "tool", begun, callId }) as const),
    ...Array.from(asked, ([callId, begun]) => ({ kind: "approval", begun, callId }) as const)
  ]
  const all = open.reduce<Spans>(
    (spans, { begun, kind, ...more }) => hold(spans, kind, begun, null, kind === "approval" ? "waits" : "", more),
    self
  )
  const held = all.held.map((span) =>
    span.to === null ? span : { ...span, to: Math.max(span.from, Math.min(span.to, at)) }
  )
  const [next, found] = flush({ ...all, held })
  return [{ ...next, calling: undefined, started: empty.started, asked }, found]
}

const begin = ({ at, seq }: RunEvent.Durable, name: string, turn: number): Begun => ({ name, turn, seq, at })

const discard = (self: Spans, event: DurableEvent.Of<"AttemptDiscarded">): Spans => {
  const { at, duration, error, model, turn, usage } = event
  const { calling } = self
  const name = model === undefined ? calling?.name ?? "" : Message.modelName(model)
  const from = duration === undefined ? calling?.at ?? at : at - duration
  const attempted = hold(self, "attempt", { ...begin(event, name, turn), at: from }, at, error._tag, { usage })
  const next = CallBegin.after(undefined, event)
  if (next === undefined) return { ...attempted, calling: undefined }
  const waited = hold(attempted, "retry", begin(event, name, turn), next, "")
  return { ...waited, calling: { ...begin(event, name, turn), at: next } }
}

const hold = (
  self: Spans,
  kind: Timeline.Kind,
  { at, name, seq, turn }: Begun,
  to: number | null,
  outcome: string,
  more: Pick<Found, "usage" | "callId" | "cause"> = {}
): Spans => {
  const end = to === null ? null : Math.max(at, to)
  return { ...self, held: [...self.held, { kind, turn, seq, name, from: at, to: end, outcome, ...more }] }
}

/** Releases the spans that are held, in the order in which they began. */
export const flush = (self: Spans): Step => [
  { ...self, held: [] },
  [...self.held].sort((a, b) => a.seq - b.seq)
]

const withEntry = (map: ReadonlyMap<string, Begun>, callId: string, begun: Begun): ReadonlyMap<string, Begun> =>
  new Map(map).set(callId, begun)

const without = (map: ReadonlyMap<string, Begun>, callId: string): ReadonlyMap<string, Begun> =>
  map.has(callId) ? new Map([...map].filter(([id]) => id !== callId)) : map
