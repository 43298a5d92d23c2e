/**
 * Whether the snapshots of a log are what the log makes: what they say is believed where reading starts there, so in a log from
 * elsewhere they may neither be damaged nor tell anything else than its events do. Pure.
 *
 * Does not own what a snapshot is (`Snapshot`).
 */
import type * as DurableEvent from "../DurableEvent.ts"
import type * as RunEvent from "../RunEvent.ts"
import * as RunState from "../RunState.ts"
import * as Transcript from "../Transcript.ts"
import * as Snapshot from "./Snapshot.ts"

type Compacted = DurableEvent.Of<"ContextCompacted">

/** A field of an event that is not what the events before it make. */
export interface Wrong {
  readonly seq: number
  readonly path: string
}

/**
 * The first field of a snapshot that differs from the one that is taken there; nothing where all are the same. Those that this
 * version does not read, as they are another's, may be anything.
 */
export const firstWrong = (log: ReadonlyArray<RunEvent.Durable>): Wrong | undefined => {
  if (!log.some(hasSnapshot)) return undefined
  let state = RunState.empty
  let transcript = Transcript.empty
  for (const event of log) {
    if (hasSnapshot(event)) {
      const path = difference(event.snapshot, stored(Snapshot.take(state, transcript, event.upTo)), "snapshot")
      if (path !== undefined) return { seq: event.seq, path }
    }
    state = RunState.evolve(state, event)
    transcript = Transcript.append(transcript, event)
  }
  return undefined
}

const hasSnapshot = (event: RunEvent.Durable): event is Compacted =>
  event._tag === "ContextCompacted" && Snapshot.isOfThisVersion(event.snapshot)

/** As it comes out of a store. */
const stored = (snapshot: unknown): unknown => snapshot === undefined ? undefined : JSON.parse(JSON.stringify(snapshot))

/**
 * The place of the first difference of two JSON values, whatever the order of keys. What only one has is named by where it
 * lacks, and a key only where it is a plain word: the others are what a log holds.
 */
const difference = (a: unknown, b: unknown, path: string): string | undefined => {
  if (a === b) return undefined
  if (!isNode(a) || !isNode(b) || Array.isArray(a) !== Array.isArray(b)) return path
  for (const key in b) {
    const place = /^\w{1,40}$/.test(key) ? `${path}.${key}` : path
    const found = Object.hasOwn(a, key) ? difference(a[key], b[key], place) : place
    if (found !== undefined) return found
  }
  return Object.keys(a).length === Object.keys(b).length ? undefined : path
}

const isNode = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null
