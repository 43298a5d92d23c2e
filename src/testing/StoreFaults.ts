/**
 * A store that fails at its n-th operation, counted from 1 over everything an agent asks of it, until it is told that
 * the fault is over. Does not own what must hold of an agent then; that is `FaultSweep`.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as SessionErrors from "../layers/sql/SessionErrors.ts"
import * as RunEvent from "../run/RunEvent.ts"
import * as SessionStore from "../services/SessionStore.ts"
import type * as ToolExecutor from "../services/ToolExecutor.ts"

/**
 * What goes wrong:
 * - `fails`: the n-th operation is not carried out, and fails
 * - `answerLost`: it is carried out, and reported as failed
 * - `down`: it and all that follow are not carried out, and fail
 * - `answerLostThenDown`: it is carried out and reported as failed; all that follow fail
 */
export type Fault = "fails" | "answerLost" | "down" | "answerLostThenDown"

/** Something that happens to the store itself, just before the n-th operation; what `begin` gives ends it. */
export interface Outage {
  readonly name: string
  /** it is over at once, so that the store takes the end of the run; default `false` */
  readonly passes?: boolean
  readonly begin: Effect.Effect<Effect.Effect<void>>
}

export const faults: ReadonlyArray<Fault> = ["fails", "answerLost", "down", "answerLostThenDown"]

type Services = SessionStore.SessionStore | ToolExecutor.ToolExecutor
type Store = SessionStore.SessionStore["Service"]

export interface StoreFaults {
  readonly around: <E>(below: Layer.Layer<Services, E>) => Layer.Layer<Services, E>
  /** the first operation that failed, in words; `undefined` while none has */
  readonly hit: () => string | undefined
  /** whether the last drive may be without an end, because the store did not take that, or not even its beginning */
  readonly mayLackEnd: () => boolean
  /** the events that the store has said it stored, so far */
  readonly acknowledged: () => ReadonlyArray<RunEvent.Durable>
  /** Ends the fault. What could not be given back is given back now. */
  readonly clear: Effect.Effect<void>
}

export const unavailable = SessionErrors.unavailable("The store cannot be reached (a fault of the test). Try again.")

const begins = ({ _tag }: RunEvent.Durable) => _tag === "RunStarted" || _tag === "RunResumed"

/** What becomes of an operation. */
type Fate = "carriedOut" | "refused" | "answerLost"

export const make = (fault: Fault | Outage, at: number): StoreFaults => {
  const outage = typeof fault === "string" ? undefined : fault
  const lasts = outage === undefined ? fault === "down" || fault === "answerLostThenDown" : outage.passes !== true
  let end: Effect.Effect<void> = Effect.void
  let n = 0
  let hit: string | undefined
  let isOver = false
  let [hasBegun, wasEnd] = [false, false]
  let kept: ReadonlyArray<Effect.Effect<void>> = []
  const acknowledged: Array<RunEvent.Durable> = []

  const next = (what: string): Fate => {
    n++
    if (isOver || n < at) return "carriedOut"
    hit ??= what
    if (outage !== undefined) return "carriedOut"
    if (n === at) return fault === "fails" || fault === "down" ? "refused" : "answerLost"
    return fault === "down" || fault === "answerLostThenDown" ? "refused" : "carriedOut"
  }

  const begin = Effect.suspend(() =>
    outage === undefined || n + 1 !== at || isOver ? Effect.void : Effect.map(outage.begin, (_) => (end = _))
  )

  const around = <A, R>(what: string, self: Effect.Effect<A, SessionStore.StoreError, R>) =>
    Effect.andThen(begin, () => {
      const fate = next(what)
      if (fate === "carriedOut") return self
      return fate === "refused" ? Effect.fail(unavailable) : Effect.andThen(self, Effect.fail(unavailable))
    })

  const streamed = <A>(what: string, self: Stream.Stream<A, SessionStore.StoreError>) =>
    Stream.unwrap(Effect.map(begin, () => {
      const fate = next(what)
      if (fate === "carriedOut") return self
      return fate === "refused" ? Stream.fail(unavailable) : Stream.concat(self, Stream.fail(unavailable))
    }))

  /** A session that is not given back now is given back when the fault is over. */
  const giveBack = (scope: Scope.Closeable) =>
    Effect.andThen(begin, () => {
      const close = Scope.close(scope, Exit.void)
      if (next("giving the session back") !== "refused") return close
      kept = [...kept, close]
      return Effect.void
    })

  const open = (store: Store): Store["open"] => (sessionId, options) =>
    Effect.gen(function*() {
      const scope = yield* Effect.acquireRelease(Scope.make(), giveBack)
      const opening = Scope.provide(store.open(sessionId, options), scope)
      const session = yield* around("opening the session", opening)
      return {
        ...session,
        append: (events) =>
          Effect.uninterruptible(Effect.suspend(() => {
            if (n + 1 === at) wasEnd = events.some(RunEvent.isEnd)
            const store = Effect.tap(session.append(events), () =>
              Effect.sync(() => {
                hasBegun ||= events.some(begins)
              }))
            return Effect.tap(
              around(`storing ${events.map(({ _tag }) => _tag).join(", ")}`, store),
              () => Effect.sync(() => acknowledged.push(...events))
            )
          }))
      }
    })

  const over = (store: Store): Store => ({
    open: open(store),
    read: (sessionId, range) => streamed("reading", store.read(sessionId, range)),
    watch: (sessionId, from) => streamed("watching", store.watch(sessionId, from)),
    lastOf: (sessionId, type, runId) => around("looking for a landmark", store.lastOf(sessionId, type, runId)),
    list: (options) => around("listing", store.list(options)),
    info: (sessionId) => around("looking a session up", store.info(sessionId)),
    fork: (sessionId, options) => around("forking", store.fork(sessionId, options)),
    remove: (sessionId) => around("removing", store.remove(sessionId))
  })

  return {
    around: (below) =>
      Layer.effectContext(
        Effect.map(Layer.build(below), (context) =>
          Context.add(context, SessionStore.SessionStore, over(Context.get(context, SessionStore.SessionStore))))
      ),
    hit: () => hit,
    mayLackEnd: () => lasts || wasEnd || !hasBegun,
    acknowledged: () => [...acknowledged],
    clear: Effect.suspend(() => {
      isOver = true
      const left = kept
      kept = []
      return Effect.andThen(end, Effect.all(left, { discard: true }))
    })
  }
}
