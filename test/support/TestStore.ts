/**
 * A session store, in memory or of any kind, whose appends a test counts, holds and breaks.
 *
 * Does not own what a store promises; that is `SessionStoreSuite`.
 */
import type * as Arr from "effect/Array"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as SessionStoreMemory from "../../src/layers/SessionStoreMemory.ts"
import * as RunError from "../../src/run/RunError.ts"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"

export type Batch = Arr.NonEmptyReadonlyArray<RunEvent.Durable>
type Append = Effect.Effect<void, SessionStore.StoreError>

/** What becomes of an append: `n` counts all appends from 1, `store` carries this one out. */
export type OnAppend = (append: { readonly n: number; readonly events: Batch; readonly store: Append }) => Append

export interface TestStore {
  readonly service: SessionStore.Store
  readonly layer: Layer.Layer<SessionStore.SessionStore>
  /** the appends that succeeded, in order */
  readonly appends: ReadonlyArray<Batch>
  readonly log: (sessionId: string) => Effect.Effect<ReadonlyArray<RunEvent.Durable>>
  /** `seq` of the last stored event of a session, 0 without one */
  readonly head: (sessionId: string) => number
  /** what applies now; replace it in the middle of a test */
  onAppend: OnAppend
  /** runs before a session is released */
  onRelease: Effect.Effect<void>
  /** runs once a session has been released */
  onReleased: Effect.Effect<void>
}

export const make = (onAppend?: OnAppend): Effect.Effect<TestStore> =>
  Effect.map(SessionStoreMemory.make, (memory) => over(memory, onAppend))

/** Other stores may return class instances: a copy of one keeps none of its methods. */
class OfClass implements SessionStore.Session {
  readonly #session: SessionStore.Session
  readonly append: SessionStore.Session["append"]

  constructor(session: SessionStore.Session, append: SessionStore.Session["append"]) {
    this.#session = session
    this.append = append
  }

  get sessionId() {
    return this.#session.sessionId
  }

  head() {
    return this.#session.head()
  }
}

export const over = (
  base: SessionStore.Store,
  onAppend: OnAppend = ({ store }) => store
): TestStore => {
  const appends: Array<Batch> = []
  const heads = new Map<string, number>()
  let n = 0
  const append = (session: SessionStore.Session) => (events: Batch): Append =>
    Effect.suspend(() => {
      const store = Effect.tap(session.append(events), () =>
        Effect.sync(() => {
          appends.push(events)
          heads.set(session.sessionId, events[events.length - 1]!.seq)
        }))
      return self.onAppend({ n: ++n, events, store })
    })
  const service: SessionStore.Store = {
    ...base,
    open: (sessionId, options) => opened(self, base.open(sessionId, options), append)
  }
  const self: TestStore = {
    service,
    layer: Layer.succeed(SessionStore.SessionStore, service),
    appends,
    log: (sessionId) =>
      Stream.runCollect(base.read(sessionId)).pipe(Effect.orElseSucceed((): Array<RunEvent.Durable> => [])),
    head: (sessionId) => heads.get(sessionId) ?? 0,
    onAppend,
    onRelease: Effect.void,
    onReleased: Effect.void
  }
  return self
}

/** Not in `open` itself: a generator function written there lives long, with everything it was called with. */
const opened = Effect.fnUntraced(function*(
  hooks: Pick<TestStore, "onRelease" | "onReleased">,
  opening: ReturnType<SessionStore.Store["open"]>,
  append: (session: SessionStore.Session) => SessionStore.Session["append"]
) {
  yield* Effect.addFinalizer(() => hooks.onReleased)
  const session = yield* opening
  yield* Effect.addFinalizer(() => hooks.onRelease)
  return new OfClass(session, append(session))
})

export const unavailable: SessionStore.StoreError = new RunError.RetryableError({
  _tag: "StoreUnavailable",
  message: "the test's store is down"
})

export const tooLarge: SessionStore.StoreError = new RunError.NonRetryableError({
  _tag: "EventTooLarge",
  message: "more than the test's store holds",
  bytes: 2,
  limit: 1
})

/** Appends for which `isBroken` holds fail, and nothing of them is stored. */
export const failing = (isBroken: (n: number) => boolean): OnAppend => ({ n, store }) =>
  isBroken(n) ? Effect.fail(unavailable) : store

/** Appends for which `isBroken` holds are stored but reported as failed. */
export const lying = (isBroken: (n: number) => boolean): OnAppend => ({ n, store }) =>
  isBroken(n) ? Effect.andThen(store, Effect.fail(unavailable)) : store

export interface Held {
  readonly onAppend: OnAppend
  /** the append waits */
  readonly reached: Effect.Effect<void>
  readonly release: Effect.Effect<void>
}

/** Holds the first append that `isHeld` selects until it is released. */
export const holding = (isHeld: (n: number, events: Batch) => boolean): Held => {
  const reached = Deferred.makeUnsafe<void>()
  const released = Deferred.makeUnsafe<void>()
  let wasHeld = false
  return {
    onAppend: ({ events, n, store }) => {
      if (wasHeld || !isHeld(n, events)) return store
      wasHeld = true
      return Deferred.succeed(reached, undefined).pipe(Effect.andThen(Deferred.await(released)), Effect.andThen(store))
    },
    reached: Deferred.await(reached),
    release: Effect.asVoid(Deferred.succeed(released, undefined))
  }
}

/** Waits until the log of a session has `n` events of this type. */
export const logged = ({ service }: TestStore, sessionId: string, tag: RunEvent.Durable["_tag"], n = 1) =>
  service.watch(sessionId).pipe(
    Stream.filter((event) => event._tag === tag),
    Stream.take(n),
    Stream.runDrain,
    Effect.orDie
  )

type Send = NonNullable<SessionStore.Store["send"]>

/** A store whose `send` is this one, and a wait until it has been called and has answered. */
export const sending = ({ service }: TestStore, send: Send = service.send!) => {
  const answered = Deferred.makeUnsafe<void>()
  return {
    store: over({
      ...service,
      send: (...sent) => Effect.ensuring(send(...sent), Deferred.succeed(answered, undefined))
    }),
    sent: Deferred.await(answered)
  }
}

/** The next append fails, and nothing of it is stored. */
export const failingOnce = (): OnAppend => {
  let isDown = true
  return ({ store }) => {
    if (!isDown) return store
    isDown = false
    return Effect.fail(unavailable)
  }
}
