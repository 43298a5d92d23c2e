/**
 * What a compaction keeps of the log before it, so that a reader can start there: it gets the same state, and byte for
 * byte the same messages, as by reading the whole log.
 *
 *     1 ... startSeq ... from ------------ compaction ---- head
 *             |            |                  |
 *        the run's input   messages kept      state from here on
 *
 * What is already in the log is not stored twice: kept messages are read again from the events that they are made of, and
 * the run's agent, input and parent from its `RunStarted`. Does not own the reading; the loop does.
 */
import * as HashSet from "effect/HashSet"
import type { Json } from "effect/Schema"
import * as DoomLoop from "../DoomLoop.ts"
import type * as DurableEvent from "../DurableEvent.ts"
import * as RunEvent from "../RunEvent.ts"
import * as RunState from "../RunState.ts"
import * as Transcript from "../Transcript.ts"
import * as Entries from "../transcript/Entries.ts"
import * as SnapshotShape from "./SnapshotShape.ts"

/** Goes up when a fold of the same events gives other states or messages; a golden session shows when it must. */
export const version = 7

type Compacted = DurableEvent.Of<"ContextCompacted">
type Known = Omit<RunState.RunState, "seq" | "at" | "input" | "parent" | "agent">

/** Where reading starts, and with what. */
interface Start {
  /** `seq` of the first event that `transcript` lacks */
  readonly from: number
  readonly transcript: Transcript.Transcript
  /** `seq` of the `RunStarted` that has the run's input */
  readonly startSeq: number
  /** The state at the compaction, with it applied, for a run that started so. */
  readonly stateOf: (started: DurableEvent.Of<"RunStarted">) => RunState.RunState
}

/** The snapshot for a compaction up to `upTo` that comes next; none before the first run. */
export const take = (
  state: RunState.RunState,
  transcript: Transcript.Transcript,
  upTo: number
): Json | undefined => {
  if (state.startSeq === 0) return undefined
  const kept = Transcript.entries(transcript).filter((entry) => entry.seq > upTo && entry.memory === undefined)
  const { open } = transcript
  const first = kept.reduce((least: Entries.Origin, entry) => entry.from < least.from ? entry : least, {
    // a turn that has said nothing yet holds back what comes during it, and has what was thought before its model paused
    from: open !== undefined && open.seq > upTo ? open.from ?? open.seq : state.seq + 1
  })
  const { renamed, shown } = Entries.idsOf(kept)
  const { agent: _1, at: _2, input, parent: _3, seq: _4, ...known } = state
  const snapshot: SnapshotShape.Shape = {
    version,
    events: RunEvent.version,
    from: first.from,
    ...(first.isDuringCall === true ? { isDuringCall: true } : {}),
    taken: Array.from(new Set(renamed)).filter((id) => !shown.includes(id)).sort(),
    state: { ...orNull(known), trail: DoomLoop.pack(known.trail) },
    ...(input?.data === undefined ? {} : { data: input.data })
  }
  return snapshot as unknown as Json
}

type OrNull<T> = { readonly [K in keyof T]: undefined extends T[K] ? Exclude<T[K], undefined> | null : T[K] }
type OrUndefined<T> = { readonly [K in keyof T]: null extends T[K] ? Exclude<T[K], null> | undefined : T[K] }

const orNull = <T extends object>(known: T) =>
  Object.fromEntries(Object.entries(known).map(([key, value]) => [key, value ?? null])) as OrNull<T>

const orUndefined = <T extends object>(stored: T) =>
  Object.fromEntries(Object.entries(stored).map(([key, value]) => [key, value ?? undefined])) as OrUndefined<T>

/** Where reading starts at `event`; `undefined` if it has no snapshot that this version can read. */
export const startOf = (event: Compacted): Start | undefined => {
  const stored = parse(event.snapshot, event.seq)
  if (stored === undefined) return undefined
  const { data, from, isDuringCall = false, state, taken } = stored
  const { measured, trail } = state
  const known: Known = {
    ...orUndefined(state),
    trail: DoomLoop.unpack(trail),
    measured: measured === null ? undefined : { ...measured, ratio: measured.ratio, tooMuch: measured.tooMuch }
  }
  return {
    from,
    // of a turn under way only the answer still to come matters: inputs follow it
    transcript: { ...Transcript.empty, taken: HashSet.fromIterable(taken), calling: isDuringCall },
    startSeq: known.startSeq,
    stateOf: ({ agent, input, parent }) =>
      RunState.evolve(
        { ...known, seq: 0, at: 0, input: data === undefined ? input : { ...input, data }, parent, agent },
        event
      )
  }
}

/** A snapshot that lacks a field of this version's state is another version's, whatever its number says. */
const parse = (value: Json | undefined, seq: number): SnapshotShape.Shape | undefined => {
  if (!isOfThisVersion(value) || !SnapshotShape.isShape(value)) return undefined
  const isPlace = (place: number) => Number.isInteger(place) && place >= 1 && place <= seq
  return isPlace(value.from) && isPlace(value.state.startSeq) ? value : undefined
}

/** Whether this version reads it, if it is whole. */
export const isOfThisVersion = (value: Json | undefined): boolean => {
  const stored = value as Partial<SnapshotShape.Shape> | null | undefined
  return stored?.version === version && stored.events === RunEvent.version
}
