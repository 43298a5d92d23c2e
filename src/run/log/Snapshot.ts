/**
 * What a compaction keeps of the log before it, so that a reader can start there: it gets the state, and byte for byte
 * the messages, that reading the whole log gives.
 *
 *     1 ... startSeq ... from ------------ compaction ---- head
 *             |            |                  |
 *        the run's input   messages kept      state from here on
 *
 * What is in the log already is not stored twice: messages that are kept are read again from the events that they are made
 * of, and the run's input and its parent from its `RunStarted`. Does not own the reading; that is the loop's.
 */
import * as HashSet from "effect/HashSet"
import type { Json } from "effect/Schema"
import * as DoomLoop from "../DoomLoop.ts"
import type * as DurableEvent from "../DurableEvent.ts"
import * as RunEvent from "../RunEvent.ts"
import * as RunState from "../RunState.ts"
import * as Transcript from "../Transcript.ts"
import * as Entries from "../transcript/Entries.ts"

/** Goes up when a fold of the same events gives other states or messages; a golden session tells when it must. */
export const version = 3

type Compacted = DurableEvent.Of<"ContextCompacted">
type Known = Omit<RunState.RunState, "seq" | "at" | "input" | "parent">

interface Stored extends Entries.Origin {
  readonly version: number
  /** the version of the events that stand in `state` */
  readonly events: number
  /** ids of calls before `from` that calls behind it would have otherwise */
  readonly taken: ReadonlyArray<string>
  /** before the compaction; `null` for `undefined`, the trail packed */
  readonly state: { readonly [K in keyof Known]: unknown } & { readonly trail: ReadonlyArray<DoomLoop.Packed> }
  /** the run's `data` by now */
  readonly data?: Json
}

/** Where reading starts, and with what. */
export interface Start {
  /** `seq` of the first event that `transcript` lacks */
  readonly from: number
  readonly transcript: Transcript.Transcript
  /** `seq` of the `RunStarted` that has the run's input */
  readonly startSeq: number
  /** The state at the compaction, with it applied, for a run that started so. */
  readonly stateOf: (started: DurableEvent.Of<"RunStarted">) => RunState.RunState
}

/** The snapshot of a compaction up to `upTo` that comes next; none before the first run. */
export const take = (
  state: RunState.RunState,
  transcript: Transcript.Transcript,
  upTo: number
): Json | undefined => {
  if (state.startSeq === 0) return undefined
  const kept = Transcript.entries(transcript).filter((entry) => entry.seq > upTo && entry.memory === undefined)
  const openSeq = Transcript.openSeq(transcript) ?? 0
  const first = kept.reduce((least: Entries.Origin, entry) => entry.from < least.from ? entry : least, {
    // a turn that says nothing yet holds up what comes during it
    from: openSeq > upTo ? openSeq : state.seq + 1
  })
  const { renamed, shown } = Entries.idsOf(kept)
  const { at: _1, input, parent: _2, seq: _3, ...known } = state
  const snapshot: Stored = {
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

const orNull = (known: Known): Stored["state"] =>
  Object.fromEntries(Object.entries(known).map(([key, value]) => [key, value ?? null])) as unknown as Stored["state"]

/** Where reading starts at `event`; `undefined` where it has no snapshot, or none that this version can read. */
export const startOf = (event: Compacted): Start | undefined => {
  const stored = parse(event.snapshot, event.seq)
  if (stored === undefined) return undefined
  const { data, from, isDuringCall = false, taken } = stored
  const { trail } = stored.state
  const known: Known = {
    ...Object.fromEntries(keys.map((key) => [key, stored.state[key] ?? undefined])) as unknown as Known,
    trail: DoomLoop.unpack(trail)
  }
  return {
    from,
    // of a turn under way only its answer still to come matters: inputs stand behind it
    transcript: { ...Transcript.empty, taken: HashSet.fromIterable(taken), calling: isDuringCall },
    startSeq: known.startSeq,
    stateOf: ({ input, parent }) =>
      RunState.evolve(
        { ...known, seq: 0, at: 0, input: data === undefined ? input : { ...input, data }, parent },
        event
      )
  }
}

const { at: _1, input: _2, parent: _3, seq: _4, ...others } = RunState.empty
const keys = Object.keys(others) as ReadonlyArray<keyof Known>

/** A state that lacks what this version knows of one is another version's, whatever its number says. */
const parse = (value: unknown, seq: number): Stored | undefined => {
  const stored = value as Partial<Stored> | null | undefined
  if (typeof stored !== "object" || stored === null) return undefined
  const { events, from, state, taken } = stored
  if (stored.version !== version || events !== RunEvent.version) return undefined
  const isPlace = (place: unknown) => Number.isInteger(place) && Number(place) >= 1 && Number(place) <= seq
  const isWhole = isPlace(from) && Array.isArray(taken) && typeof state === "object" && state !== null
  return isWhole && isPlace(state.startSeq) && keys.every((key) => Object.hasOwn(state, key)) && isLike(state, others)
    ? stored as Stored
    : undefined
}

/** Of the shape of `model`, as far as that has one: a log from elsewhere may say anything. */
const isLike = (value: unknown, model: unknown): boolean => {
  if (model === undefined) return true
  if (Array.isArray(model)) return Array.isArray(value)
  if (typeof model !== "object" || model === null) return typeof value === typeof model
  return typeof value === "object" && value !== null &&
    Object.entries(model).every(([key, part]) => isLike((value as Record<string, unknown>)[key], part))
}
