/**
 * How a log becomes state and messages: read from its last compaction on, where that has a snapshot, else in full. What is
 * read does not grow with the session, but with what a model is sent, before hooks leave some of it out.
 *
 * Does not own what a snapshot is (`run/log/Snapshot`), nor who may write (`Opening`).
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type * as DurableEvent from "../../run/DurableEvent.ts"
import * as Snapshot from "../../run/log/Snapshot.ts"
import * as RunError from "../../run/RunError.ts"
import type * as RunEvent from "../../run/RunEvent.ts"
import type * as RunInput from "../../run/RunInput.ts"
import * as RunState from "../../run/RunState.ts"
import * as Transcript from "../../run/Transcript.ts"
import type * as SessionStore from "../../services/SessionStore.ts"

/** A log folded up to `state.seq`. */
export interface Folded {
  readonly state: RunState.RunState
  readonly transcript: Transcript.Transcript
}

/** A log that is being folded: its members are as of the last event that it took. */
export class Folding implements Folded {
  state: RunState.RunState
  transcript: Transcript.Transcript

  constructor({ state, transcript }: Folded) {
    this.state = state
    this.transcript = transcript
  }

  take(event: RunEvent.Durable): void {
    this.state = RunState.evolve(this.state, event)
    this.transcript = Transcript.append(this.transcript, event)
  }
}

export const nothing: Folded = { state: RunState.empty, transcript: Transcript.empty }

/**
 * What the log already has of a run, between two places in it: up to its end, where it has one. The state is also that of what came after
 * the end: answers, and the outcomes that a run which follows gives the calls.
 */
export interface Past {
  readonly from: number
  readonly to: number
  readonly state: RunState.RunState
}

/** A run that was asked for by its id. */
export interface Known extends Past {
  readonly input: RunInput.Effective
}

type Read = Effect.Effect<Folded, SessionStore.StoreError>

/**
 * Folds what the log holds after `folded`. Fails with `SessionNotFound` where that is the log of a session that was removed, which
 * another one with its id has followed.
 */
export const fold = (store: SessionStore.Store, sessionId: string, folded: Folded): Read => {
  const { at, seq } = folded.state
  return seq > 0
    ? Effect.flatMap(
      eventAt(store, sessionId, seq),
      (last) => last?.at === at ? readOn(store, sessionId, folded) : Effect.fail(RunError.sessionNotFound(sessionId))
    )
    : Effect.flatMap(atCompaction(store, sessionId), (start) => readOn(store, sessionId, start))
}

const readOn = (store: SessionStore.Store, sessionId: string, folded: Folded): Read =>
  Effect.suspend(() => {
    const folding = new Folding(folded)
    const take = (events: ReadonlyArray<RunEvent.Durable>) => {
      for (const event of events) folding.take(event)
    }
    return store.read(sessionId, { from: folded.state.seq + 1 }).pipe(
      Stream.runForEachArray((events) => Effect.sync(() => take(events))),
      Effect.map(() => ({ state: folding.state, transcript: folding.transcript }))
    )
  })

/**
 * The last run of a session, for code that asks no model: what was said before that run is not read, and the state does not know
 * what was measured there.
 */
export const lastRun = Effect.fnUntraced(function*(
  store: SessionStore.Store,
  sessionId: string
): Effect.fn.Return<Folded, SessionStore.StoreError> {
  const started = yield* last(store, sessionId, "RunStarted")
  const compacted = yield* store.lastOf(sessionId, "ContextCompacted")
  return started === undefined || (compacted ?? 0) > started.seq
    ? yield* fold(store, sessionId, nothing)
    : yield* readOn(store, sessionId, { ...nothing, state: RunState.evolve(RunState.empty, started) })
})

/** The log folded up to its last compaction; `nothing` where that has no snapshot that can be read. */
const atCompaction = Effect.fnUntraced(function*(
  store: SessionStore.Store,
  sessionId: string
): Effect.fn.Return<Folded, SessionStore.StoreError> {
  const compacted = yield* last(store, sessionId, "ContextCompacted")
  const start = compacted === undefined ? undefined : Snapshot.startOf(compacted)
  if (compacted === undefined || start === undefined) return nothing
  const { seq } = compacted
  const started = yield* eventAt(store, sessionId, start.startSeq)
  if (started?._tag !== "RunStarted") return nothing
  let { transcript } = start
  yield* store.read(sessionId, { from: start.from, to: seq - 1 }).pipe(
    Stream.runForEachArray((events) =>
      Effect.sync(() => {
        transcript = events.reduce(Transcript.append, transcript)
      })
    )
  )
  return { state: start.stateOf(started), transcript: Transcript.append(transcript, compacted) }
})

/** Sees an event of a run after its first one, with the state that the run was in before it. */
type See = (event: RunEvent.Durable, before: RunState.RunState) => void

/** The state of a run, whatever else is in its session; undefined where the run is not there. `see` gets the events on the way. */
export const run = Effect.fnUntraced(function*(
  store: SessionStore.Store,
  sessionId: string,
  runId: string,
  see?: See
): Effect.fn.Return<RunState.RunState | undefined, SessionStore.StoreError> {
  const started = yield* last(store, sessionId, "RunStarted", runId)
  return started === undefined ? undefined : yield* stateOf(store, sessionId, started, see)
})

/** The run `runId` in a log that is folded to its end; reads nothing where there is no such run. */
export const find = Effect.fnUntraced(function*(
  store: SessionStore.Store,
  sessionId: string,
  runId: string,
  { state }: Folded
): Effect.fn.Return<Known | undefined, SessionStore.StoreError> {
  const started = yield* last(store, sessionId, "RunStarted", runId)
  if (started === undefined) return undefined
  const { input, seq: from } = started
  const found = state.startSeq === from ? state : yield* stateOf(store, sessionId, started)
  return { input, from, to: found.end?.seq ?? found.seq, state: found }
})

/** What the last run was started with: the input in its state, but without data that it was resumed with since. */
export const inputOf = (
  store: SessionStore.Store,
  sessionId: string,
  { input, startSeq }: RunState.RunState
): Effect.Effect<RunInput.Effective | undefined, SessionStore.StoreError> =>
  input?.data === undefined
    ? Effect.succeed(input)
    : Effect.map(eventAt(store, sessionId, startSeq), (event) => event?._tag === "RunStarted" ? event.input : undefined)

/** The last state of a run, whether other runs follow it or not. */
const stateOf = (store: SessionStore.Store, sessionId: string, started: DurableEvent.Of<"RunStarted">, see?: See) =>
  Effect.suspend(() => {
    let state = RunState.evolve(RunState.empty, started)
    return store.read(sessionId, { from: started.seq + 1 }).pipe(
      Stream.takeWhile((event) => event._tag !== "RunStarted"),
      Stream.runForEach((event) =>
        Effect.sync(() => {
          if (event.runId !== started.runId) return
          see?.(event, state)
          state = RunState.evolve(state, event)
        })
      ),
      Effect.map(() => state)
    )
  })

/** The last event of a type, of any run or of `runId`. */
const last = Effect.fnUntraced(function*<const Type extends SessionStore.Landmark>(
  store: SessionStore.Store,
  sessionId: string,
  type: Type,
  runId?: string
): Effect.fn.Return<DurableEvent.Of<Type> | undefined, SessionStore.StoreError> {
  const seq = yield* store.lastOf(sessionId, type, runId)
  const event = seq === undefined ? undefined : yield* eventAt(store, sessionId, seq)
  return event?._tag === type ? event as DurableEvent.Of<Type> : undefined
})

const eventAt = (store: SessionStore.Store, sessionId: string, seq: number) =>
  Effect.map(
    Stream.runCollect(store.read(sessionId, { from: seq, to: seq })),
    (events): RunEvent.Durable | undefined => events[0]
  )

/** `otherwise` where there is no such session, or no longer. */
export const ifThere = <A, B>(self: Effect.Effect<A, SessionStore.StoreError>, otherwise: B) =>
  Effect.catchReason(self, "NonRetryableError", "SessionNotFound", () => Effect.succeed(otherwise))

/** `otherwise` where a log cannot be read: there is no such session, or a newer version wrote it. */
export const ifReadable = <A, B>(self: Effect.Effect<A, SessionStore.StoreError>, otherwise: B) =>
  Effect.catchReasons(self, "NonRetryableError", {
    StoreRefused: () => Effect.succeed(otherwise),
    SessionNotFound: () => Effect.succeed(otherwise)
  })
