/**
 * Whether the snapshots of a log are what the log makes. Reading that starts at a snapshot believes it, so in a log from
 * elsewhere none may be damaged or say anything else than its events. Pure.
 *
 * Does not own what a snapshot is (`Snapshot`).
 */
import type * as DurableEvent from "../DurableEvent.ts"
import type * as RunEvent from "../RunEvent.ts"
import * as RunState from "../RunState.ts"
import * as Transcript from "../Transcript.ts"
import * as Snapshot from "./Snapshot.ts"

type Compacted = DurableEvent.Of<"ContextCompacted">

/** A field of an event that does not follow from the events before it. */
export interface Wrong {
  readonly seq: number
  readonly path: string
}

/**
 * The first field of a snapshot that differs from the snapshot that would be taken there; `undefined` if all agree. Snapshots
 * of other versions, which this one does not read, may hold anything.
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

/** As it is read from a store. */
const stored = (snapshot: unknown): unknown => snapshot === undefined ? undefined : JSON.parse(JSON.stringify(snapshot))

/**
 * Where two JSON values first differ, whatever the order of keys. A missing member is named by its place, and a key only
 * if it is a plain word: other keys may be content of the log.
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
