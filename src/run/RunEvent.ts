/**
 * The one union of what a run emits. Durable events (`DurableEvent`) are the log: facts, stored before anyone sees
 * them, and every state is a fold of them. Transient events (`TransientEvent`) are for watching; whatever they carry is
 * restated by the durable event that settles it.
 *
 * Events are plain JSON, so that their encoding is `JSON.stringify`. Does not own what they mean together; that is
 * `RunState` and `Transcript`.
 */
import * as Schema from "effect/Schema"
import type * as Delivery from "./Delivery.ts"
import { Durable } from "./DurableEvent.ts"
import * as RunError from "./RunError.ts"
import type { Totals } from "./Totals.ts"
import { Transient } from "./TransientEvent.ts"
import type { Usage } from "./Usage.ts"

export { Durable } from "./DurableEvent.ts"
export { HookTime } from "./HookTime.ts"
export * from "./Reason.ts"
export { Totals } from "./Totals.ts"
export { Transient } from "./TransientEvent.ts"

/** The schema version that this code writes. A log with a newer one is refused, untouched. */
export const version = 1

/** What a run emits: facts of its log, and what is only for watching. */
export const RunEvent = Schema.Union([...Durable.members, ...Transient.members])
export type RunEvent = Durable | Transient

/** A piece of text, of reasoning or of a call's arguments, as the model produces it. */
export type Delta = Extract<Transient, { readonly delta: string }>
/** The end of a drive: every drive has exactly one, as its last event. */
export type End = Extract<Durable, { readonly totals: Totals }>

type CutOff = NonNullable<Extract<End, { readonly _tag: "RunAborted" }>["cutOff"]>

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never
/** A durable event before the log has given it its place. */
export type Draft = DistributiveOmit<Durable, "seq" | "at" | "runId" | "version">

/** Asked of every delta, everywhere: reading a field costs less than `in` when there are many shapes. */
export const isDurable = (event: RunEvent): event is Durable => (event as { readonly seq?: number }).seq !== undefined

/** Asked of every event on its way, as `isDurable` is. */
export const isDelta = (event: RunEvent): event is Delta => (event as { readonly delta?: string }).delta !== undefined

/** Whether a drive ends with it. */
export const isEnd = (event: RunEvent): event is End => ends.has(event._tag)

/*
 * What ends say of their run, which is left (`isLeft`) where `leftBy` says by what:
 *
 *                                isCrash  isOfDead  isDeath  leftBy   isOver  isUnwanted
 *     RunAborted crashed            x        x         x     process             x
 *     RunAborted shutdown                                    process             x
 *     RunAborted consumer, forked                                     x          x
 *     RunAborted requested                                            x
 *     RunFailed, the store's                           x     store               x
 *     RunFailed otherwise                                             x
 *     RunLimited crashLoop                   x                        x
 *     RunLimited otherwise                                            x
 *     RunSuspended                                                               x
 *     RunCompleted                                                    x
 */

/** As far as it says what becomes of the run; a drive asks that before it writes one. */
type Ending =
  | { readonly _tag: "RunCompleted" | "RunLimited" | "RunSuspended" }
  | Pick<Extract<End, { readonly _tag: "RunAborted" }>, "_tag" | "reason">
  | { readonly _tag: "RunFailed"; readonly error: RunError.RunError | RunError.Stored }

/** Whether a drive died: the next one takes up its turn and its calls. */
export const isCrash = (end: End | undefined): boolean => end?._tag === "RunAborted" && end.reason === "crashed"

/** Whether the end was written by whoever found that the drive had died, and not by the drive itself. */
export const isOfDead = (end: End): boolean => isCrash(end) || (end._tag === "RunLimited" && end.reason === "crashLoop")

/** Whether what a drive worked with was gone, its process or its store, unexpectedly: a run that goes on may meet that again. */
export const isDeath = (end: End): boolean => isCrash(end) || leftBy(end) === "store"

/**
 * What was gone so that a drive ended, though nobody wanted the run to end: its process, which died or was shut down, or its store.
 * Such a run goes on by itself, and the next drive takes up the calls that have no outcome.
 */
export const leftBy = (end: Ending): Delivery.Left | undefined => {
  if (end._tag === "RunAborted") return end.reason === "crashed" || end.reason === "shutdown" ? "process" : undefined
  return end._tag === "RunFailed" && RunError.isStoreAway(end.error) ? "store" : undefined
}

/** Whether a run with this end goes on by itself. */
export const isLeft = (end: Ending): boolean => leftBy(end) !== undefined

/** Whether a run with this end is over: only a `resume` continues it, not recovery, nor people's answers. */
export const isOver = (end: End): boolean => end._tag !== "RunSuspended" && !isLeft(end)

/** Whether a run stopped where nobody wanted it to end: the call that it works for goes on with it. */
export const isUnwanted = (end: End): boolean =>
  end._tag === "RunSuspended" || leftBy(end) === "store" || (end._tag === "RunAborted" && end.reason !== "requested")

/** `seq` of the inputs that wait on after an end that a drive wrote itself. */
export const keptBy = (end: End): ReadonlyArray<number> => "kept" in end ? end.kept ?? [] : []

/** The model call that an end cut off, and what it had used by then, where that is known. */
export const cutOffOf = (end: End): CutOff | undefined => "cutOff" in end ? end.cutOff : undefined

/** The texts of the answer that an end cut off. */
export const unfinishedOf = (end: End | undefined): ReadonlyArray<string> =>
  end !== undefined && "unfinished" in end ? end.unfinished ?? [] : []

/** What models used that no other event says: other usage is a sum of this, or that of runs below, whose own logs have it. */
export const spentBy = (event: RunEvent): Usage | undefined => {
  if ("usage" in event) return counts[event._tag] ? event.usage : undefined
  return "cutOff" in event ? event.cutOff?.usage : undefined
}

type WithUsage<E> = E extends { readonly _tag: string } ? "usage" extends keyof E ? E["_tag"] : never : never

const counts: Record<WithUsage<RunEvent>, boolean> = {
  AttemptDiscarded: true,
  AssistantMessage: true,
  ContextCompacted: true,
  CompactionDiscarded: true,
  TurnFinished: false,
  ToolSettled: false
}

/** Why a drive ended, in a word: the tag of its error, if it failed. */
export const reasonOf = (end: End): string => end._tag === "RunFailed" ? end.error.reason._tag : end.reason

const endTags: Record<End["_tag"], true> = {
  RunCompleted: true,
  RunLimited: true,
  RunSuspended: true,
  RunFailed: true,
  RunAborted: true
}
const ends: ReadonlySet<string> = new Set(Object.keys(endTags))
