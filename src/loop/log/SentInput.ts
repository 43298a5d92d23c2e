/**
 * What a log says of an input from another process. The process that has the session may die with it, and the input be sent again to
 * whoever comes after: the log alone knows whether it was accepted.
 *
 * Does not own how an input is sent (`Sending`), nor how it is accepted (`Inbox`).
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as Delivery from "../../run/Delivery.ts"
import type * as DurableEvent from "../../run/DurableEvent.ts"
import * as RunEvent from "../../run/RunEvent.ts"
import * as RunState from "../../run/RunState.ts"
import type * as SessionStore from "../../services/SessionStore.ts"

type Sent = Pick<SessionStore.SentInput, "id" | "after">
type Accepted = DurableEvent.Of<"InputQueued">

/** It was accepted, or its run is over without it. */
export type Fate = Accepted | Delivery.Delivery

type Found = Effect.Effect<Option.Option<Fate>, SessionStore.StoreError>

/** `None` while it may still be accepted. */
export const read = (store: SessionStore.Store, sessionId: string, sent: Sent): Found =>
  first(sent, store.read(sessionId, { from: sent.after + 1 }))

/** Waits until that is known. */
export const watch = (store: SessionStore.Store, sessionId: string, sent: Sent): Found =>
  first(sent, store.watch(sessionId, sent.after + 1))

const first = (sent: Sent, events: Stream.Stream<RunEvent.Durable, SessionStore.StoreError>): Found =>
  Stream.runHead(Stream.filter(Stream.map(events, (event) => fateOf(sent, event)), (fate) => fate !== undefined))

const fateOf = ({ id }: Sent, event: RunEvent.Durable): Fate | undefined => {
  if (event._tag === "InputQueued") return event.id === id ? event : undefined
  // its run was left, and another has followed
  if (event._tag === "RunStarted") return Delivery.notDelivered("ended")
  return RunEvent.isEnd(event) && !RunEvent.isLeft(event) ? Delivery.notDeliveredBefore(event._tag) : undefined
}

/** What the run at `state` has accepted under an id, by any of its drives. */
export const accepted = (
  store: SessionStore.Store,
  sessionId: string,
  { seq, startSeq }: RunState.RunState,
  id: string
): Effect.Effect<Option.Option<Accepted>, SessionStore.StoreError> =>
  store.read(sessionId, { from: startSeq, to: seq }).pipe(
    Stream.filter((event): event is Accepted => event._tag === "InputQueued" && event.id === id),
    Stream.runHead
  )

/** What has become of an input that the run at `state` has accepted; waits where nothing has yet. */
export const known = (
  store: SessionStore.Store,
  sessionId: string,
  accepted: Accepted,
  { startSeq }: RunState.RunState
): Effect.Effect<Delivery.Delivery, SessionStore.StoreError> => {
  const before = { ...RunState.empty, seq: startSeq - 1 }
  return deliveries(store.read(sessionId, { from: startSeq }), accepted, before).pipe(
    // only what was kept may have become something else since
    Stream.takeUntil(({ _tag }) => _tag !== "Kept"),
    Stream.runLast,
    Effect.flatMap((last) =>
      Option.isSome(last) ? Effect.succeed(last.value) : delivery(store, sessionId, accepted, before)
    )
  )
}

/** Waits for what becomes of an accepted input; `before` is its run's state at some place before that. */
export const delivery = (
  store: SessionStore.Store,
  sessionId: string,
  accepted: Accepted,
  before: RunState.RunState
): Effect.Effect<Delivery.Delivery, SessionStore.StoreError> =>
  deliveries(store.watch(sessionId, before.seq + 1), accepted, before).pipe(
    Stream.runHead,
    // a log that is watched has no end
    Effect.flatMap((delivery) => Option.isSome(delivery) ? Effect.succeed(delivery.value) : Effect.never)
  )

/** What events say of an accepted input; `before` is its run's state before the first of them. */
const deliveries = (
  events: Stream.Stream<RunEvent.Durable, SessionStore.StoreError>,
  { seq }: Accepted,
  before: RunState.RunState
): Stream.Stream<Delivery.Delivery, SessionStore.StoreError> => {
  let state = before
  const of = (event: RunEvent.Durable): Delivery.Delivery | undefined => {
    if (event._tag === "InputReceived" && event.queued === seq) return Delivery.delivered(RunState.nextTurn(state))
    state = RunState.evolve(state, event)
    if (event.seq < seq || !RunEvent.isEnd(event)) return undefined
    if (RunEvent.isOfDead(event)) return Delivery.kept("process")
    if (!RunEvent.keptBy(event).includes(seq)) return Delivery.notDeliveredBefore(event._tag)
    return Delivery.kept(RunEvent.leftBy(event) ?? "process")
  }
  return Stream.filter(Stream.map(events, of), (delivery) => delivery !== undefined)
}
