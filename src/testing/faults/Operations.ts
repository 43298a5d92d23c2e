/**
 * Counts the operations of a store, from 1 over all that is asked of it: one of them, or all from there on, goes wrong,
 * until the fault is over.
 *
 * Does not own what the operations of a store are (`StoreFaults`).
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as SessionErrors from "../../layers/store/SessionErrors.ts"
import type * as SessionStore from "../../services/SessionStore.ts"

/**
 * What goes wrong:
 * - `fails`: the n-th operation is not carried out, and fails
 * - `answerLost`: it is carried out, but reported as failed; a `watch`, which has no end, fails after its first event
 * - `down`: it and all that follow are not carried out, and fail
 * - `answerLostThenDown`: it is carried out, but reported as failed; all that follow fail
 */
export type Fault = "fails" | "answerLost" | "down" | "answerLostThenDown"

/** Something that happens to the store itself, just before the n-th operation; the result of `begin` ends it. */
export interface Outage {
  readonly name: string
  /** whether it is over at once, so that the store takes the end of the run; default `false` */
  readonly passes?: boolean
  readonly begin: Effect.Effect<Effect.Effect<void>>
}

/** The error of operations that go wrong: a `StoreUnavailable`. */
export const unavailable = SessionErrors.unavailable("The store cannot be reached (a fault of the test). Try again.")

/** What happens to an operation. During an outage all are carried out: the store itself is out of order. */
type Fate = "carriedOut" | "refused" | "answerLost"

export interface Operations {
  /** Counts the next operation, and returns what happens to it. */
  readonly take: (what: string) => Effect.Effect<Fate>
  /** whether the fault begins with the next operation */
  readonly isDue: () => boolean
  /** the first operation of the fault, in words; `undefined` while none was */
  readonly hit: () => string | undefined
  /** whether the fault lasts until it is ended */
  readonly lasts: boolean
  /** Ends the fault: later operations are carried out. */
  readonly end: Effect.Effect<void>
}

/** `at`: the operation with which the fault begins. */
export const make = (fault: Fault | Outage, at: number): Operations => {
  const outage = typeof fault === "string" ? undefined : fault
  const lasts = outage === undefined ? fault === "down" || fault === "answerLostThenDown" : outage.passes !== true
  let endOutage: Effect.Effect<void> = Effect.void
  let n = 0
  let hit: string | undefined
  let isOver = false

  const isDue = () => n + 1 === at
  const begin = Effect.suspend(() =>
    outage === undefined || !isDue() || isOver ? Effect.void : Effect.map(outage.begin, (end) => (endOutage = end))
  )
  const next = (what: string): Fate => {
    n++
    if (isOver || n < at) return "carriedOut"
    hit ??= what
    if (outage !== undefined) return "carriedOut"
    if (n > at) return lasts ? "refused" : "carriedOut"
    return fault === "fails" || fault === "down" ? "refused" : "answerLost"
  }
  return {
    take: (what) => Effect.map(begin, () => next(what)),
    isDue,
    hit: () => hit,
    lasts,
    end: Effect.suspend(() => {
      isOver = true
      return endOutage
    })
  }
}

/** Runs `self` as an operation of the store. */
export const call = <A, R>(
  { take }: Operations,
  what: string,
  self: Effect.Effect<A, SessionStore.StoreError, R>
): Effect.Effect<A, SessionStore.StoreError, R> =>
  Effect.flatMap(take(what), (fate) => {
    if (fate === "carriedOut") return self
    return fate === "refused" ? Effect.fail(unavailable) : Effect.andThen(self, Effect.fail(unavailable))
  })

/** `self`, which returns a stream, as an operation of the store; `arrived` is what comes of it before its answer is lost. */
export const stream = <A>(
  { take }: Operations,
  what: string,
  self: Stream.Stream<A, SessionStore.StoreError>,
  arrived = self
): Stream.Stream<A, SessionStore.StoreError> =>
  Stream.unwrap(Effect.map(take(what), (fate) => {
    if (fate === "carriedOut") return self
    return fate === "refused" ? Stream.fail(unavailable) : Stream.concat(arrived, Stream.fail(unavailable))
  }))
