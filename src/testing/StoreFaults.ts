/**
 * A store that fails at its n-th operation, counted from 1 over everything an agent asks of it, until the fault is
 * cleared.
 *
 * Does not own how operations are counted (`Operations`), nor what must then hold of an agent (`FaultSweep`).
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as RunEvent from "../run/RunEvent.ts"
import * as Delegating from "../services/Delegating.ts"
import * as SessionStore from "../services/SessionStore.ts"
import type * as ToolExecutor from "../services/ToolExecutor.ts"
import * as Operations from "./faults/Operations.ts"
import * as Writes from "./faults/Writes.ts"

export { type Fault, type Outage, unavailable } from "./faults/Operations.ts"

export const faults: ReadonlyArray<Operations.Fault> = ["fails", "answerLost", "down", "answerLostThenDown"]

type Services = SessionStore.SessionStore | ToolExecutor.ToolExecutor

/** The fault of one try. */
export interface StoreFaults {
  /** The store of `below`, with this fault. */
  readonly around: <E>(below: Layer.Layer<Services, E>) => Layer.Layer<Services, E>
  /** the first operation that failed, in words; `undefined` while none has */
  readonly hit: () => string | undefined
  /** whether the last drive may lack its end, because the store did not take the end, or not even the drive's beginning */
  readonly mayLackEnd: () => boolean
  /** the events that the store has confirmed so far */
  readonly acknowledged: () => ReadonlyArray<RunEvent.Durable>
  /** Ends the fault. Sessions that could not be given back are given back now. */
  readonly clear: Effect.Effect<void>
}

/** `at`: the operation that fails, or with which the fault begins, from 1. */
export const make = (fault: Operations.Fault | Operations.Outage, at: number): StoreFaults => {
  const operations = Operations.make(fault, at)
  let [hasBegun, wasEnd] = [false, false]
  let kept: ReadonlyArray<Effect.Effect<void>> = []
  const acknowledged: Array<RunEvent.Durable> = []

  /** A session that cannot be given back now is given back when the fault is over. */
  const giveBack = (scope: Scope.Closeable) =>
    Effect.flatMap(operations.take("giving the session back"), (fate) => {
      const close = Scope.close(scope, Exit.void)
      if (fate !== "refused") return close
      kept = [...kept, close]
      return Effect.void
    })

  const append = (session: SessionStore.Session): SessionStore.Session["append"] => (events) =>
    Effect.uninterruptible(Effect.suspend(() => {
      if (operations.isDue()) wasEnd = events.some(RunEvent.isEnd)
      const stored = Effect.tap(session.append(events), () =>
        Effect.sync(() => {
          hasBegun ||= events.some(begins)
        }))
      return Effect.tap(
        Operations.call(operations, Writes.storing(events), stored),
        () => Effect.sync(() => acknowledged.push(...events))
      )
    }))

  const open = (store: SessionStore.Store): SessionStore.Store["open"] => (sessionId, options) =>
    Effect.gen(function*() {
      const scope = yield* Effect.acquireRelease(Scope.make(), giveBack)
      const opening = Scope.provide(store.open(sessionId, options), scope)
      const session = yield* Operations.call(operations, Writes.opening, opening)
      return Delegating.to(session, { append: append(session) })
    })

  return {
    around: (below) =>
      Layer.effectContext(
        Effect.map(Layer.build(below), (context) => {
          const store = Context.get(context, SessionStore.SessionStore)
          return Context.add(context, SessionStore.SessionStore, { ...over(store, operations), open: open(store) })
        })
      ),
    hit: operations.hit,
    mayLackEnd: () => operations.lasts || wasEnd || !hasBegun,
    acknowledged: () => [...acknowledged],
    clear: Effect.suspend(() => {
      const left = kept
      kept = []
      return Effect.andThen(operations.end, Effect.all(left, { discard: true }))
    })
  }
}

const begins = ({ _tag }: RunEvent.Durable) => _tag === "RunStarted" || _tag === "RunResumed"

/** The operations of a store outside a session. */
const over = (store: SessionStore.Store, operations: Operations.Operations): Omit<SessionStore.Store, "open"> => ({
  read: (sessionId, range) => Operations.stream(operations, "reading", store.read(sessionId, range)),
  watch: (sessionId, from) => {
    const events = store.watch(sessionId, from)
    return Operations.stream(operations, "watching", events, Stream.take(events, 1))
  },
  lastOf: (sessionId, type, runId) =>
    Operations.call(operations, "looking for a landmark", store.lastOf(sessionId, type, runId)),
  list: (options) => Operations.call(operations, "listing", store.list(options)),
  info: (sessionId) => Operations.call(operations, "looking a session up", store.info(sessionId)),
  ...Writes.outside(store, (what, self) => Operations.call(operations, what, self))
})
