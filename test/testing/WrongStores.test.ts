/** Stores in memory that break one promise each, and the test of `SessionStoreSuite` that finds it. */
import { assert, it } from "@effect/vitest"
import type * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as SessionStoreMemory from "../../src/layers/SessionStoreMemory.ts"
import * as RunEvent from "../../src/run/RunEvent.ts"
import { Migrations } from "../../src/services/Migrations.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"
import * as AbortsAsked from "../../src/testing/sessions/AbortsAsked.ts"
import * as Appends from "../../src/testing/sessions/Appends.ts"
import type { Durable } from "../../src/testing/sessions/Fixtures.ts"
import * as Listing from "../../src/testing/sessions/Listing.ts"
import * as Sent from "../../src/testing/sessions/Sent.ts"
import * as TestRunner from "../../src/testing/sessions/TestRunner.ts"
import * as Versions from "../../src/testing/sessions/Versions.ts"
import * as Writers from "../../src/testing/sessions/Writers.ts"

type Store = SessionStore.Store
type Events = Arr.NonEmptyReadonlyArray<Durable>

const changed = (change: (store: Store) => Partial<Store>): Effect.Effect<Store> =>
  Effect.map(SessionStoreMemory.make, (store) => ({ ...store, ...change(store) }))

/** A store whose appends are these. */
const appending = (append: (session: SessionStore.Session, events: Events) => ReturnType<typeof session.append>) =>
  changed((store) => ({
    open: (...args) =>
      Effect.map(store.open(...args), (session) => ({ ...session, append: (events) => append(session, events) }))
  }))

const piecemeal = appending((session, events) =>
  Effect.uninterruptible(
    Effect.forEach(events, (event) => Effect.andThen(session.append([event]), Effect.yieldNow), { discard: true })
  )
)

const fencedTooEarly = changed((store) => {
  const last = new Map<string, SessionStore.Session>()
  return {
    open: (sessionId, options) =>
      Effect.map(store.open(sessionId, options), (session) => {
        last.set(sessionId, session)
        const write = (events: Events) => Effect.suspend(() => last.get(sessionId)!.append(events))
        return {
          ...session,
          append: (events) =>
            last.get(sessionId) === session
              ? Effect.uninterruptible(Effect.andThen(Effect.yieldNow, write(events)))
              : session.append(events)
        }
      })
  }
})

const ofNoVersion = appending((session, events) =>
  session.append(events.map((event) => ({ ...event, version: RunEvent.version })) as unknown as Events)
)

const withoutSteps = Effect.provideService(SessionStoreMemory.make, Migrations, { [RunEvent.version - 1]: {} })

const waiting = changed((store) => {
  const due: Array<Effect.Effect<void>> = []
  const later = (told: Effect.Effect<void>) => Effect.sync(() => void due.push(told))
  const waited = <A, E, R>(call: Effect.Effect<A, E, R>) =>
    Effect.tap(call, () => Effect.suspend(() => Effect.all(due.splice(0), { discard: true })))
  return {
    open: (sessionId, { onAbortAsked, onSent, ...options }) =>
      waited(store.open(sessionId, {
        ...options,
        onAbortAsked: onAbortAsked && later(onAbortAsked),
        onSent: onSent && ((sent) => later(onSent(sent)))
      })),
    askToAbort: (...args) => waited(store.askToAbort!(...args)),
    send: (...args) => waited(store.send!(...args))
  }
})

const listedOnRelease = changed((store) => {
  const infos = new Map<string, SessionStore.SessionInfo>()
  const list = (sessionId: string) =>
    Effect.ignore(Effect.map(store.info(sessionId), (info) => info && infos.set(sessionId, info)))
  return {
    open: (sessionId, options) =>
      Effect.tap(store.open(sessionId, options), () => Effect.addFinalizer(() => list(sessionId))),
    info: (sessionId) => Effect.sync(() => infos.get(sessionId)),
    list: () => Effect.sync(() => [...infos.values()])
  }
})

const neverForgetting = changed((store) => {
  const asked = new Set<string>()
  return {
    open: (sessionId, options) =>
      Effect.tap(
        store.open(sessionId, options),
        () => asked.has(options.runId) ? options.onAbortAsked ?? Effect.void : Effect.void
      ),
    askToAbort: (sessionId, runId) => {
      asked.add(runId)
      return store.askToAbort!(sessionId, runId)
    }
  }
})

/** Far more than a test needs that never waits for longer than other fibers take. */
const turns = Effect.repeat(Effect.yieldNow, { times: 1000 })

type Body<A, E> = Effect.Effect<A, E, SessionStore.SessionStore | Scope.Scope>

/** How a test of the suite ends on a store; `undefined` where it hangs. */
const ended = <A, E>(body: Body<A, E>, made: Effect.Effect<Store>) =>
  Effect.scoped(body).pipe(
    Effect.provide(Layer.effect(SessionStore.SessionStore, made)),
    Effect.provideService(Migrations, Versions.steps),
    Effect.exit,
    Effect.raceFirst(Effect.as(turns, undefined))
  )

TestRunner.load()
for (
  const [how, made, part, claim] of [
    [
      "appends events one by one",
      piecemeal,
      Appends.appends,
      "a reader sees all events of an append, or none"
    ],
    [
      "looks at the fence before it writes",
      fencedTooEarly,
      Writers.writers,
      "an append under way while its session is taken over is stored before that, or refused and never stored"
    ],
    [
      "does not look at versions when it opens",
      ofNoVersion,
      Versions.versions,
      "a log that ends with an event of a newer version is not opened, however it is asked for, and nothing changes"
    ],
    [
      "takes over what a newer version writes",
      ofNoVersion,
      Versions.versions,
      "such a log is not taken over from its writer, who goes on"
    ],
    [
      "migrates nothing",
      withoutSteps,
      Versions.versions,
      "events of an older version are read, watched and copied as this one would have written them"
    ],
    [
      "waits for what a request to abort leads to",
      waiting,
      AbortsAsked.abortsAsked,
      "are not waited for, neither by who asks nor by who opens the session"
    ],
    [
      "waits for what becomes of what is sent",
      waiting,
      Sent.sent,
      "is not waited for, neither by who sends it nor by its writer"
    ],
    [
      "lists a session when its writer leaves",
      listedOnRelease,
      Listing.listing,
      "shows a session as it is by now, also while it is written to"
    ],
    [
      "never forgets who was asked to abort",
      neverForgetting,
      AbortsAsked.abortsAsked,
      "no longer reach anybody once their run has completed"
    ]
  ] as const
) {
  part(`a store that ${how}`, (name, body) => {
    if (name !== claim) return
    it.effect(`fails: ${claim}`, () =>
      Effect.gen(function*() {
        const right = yield* ended(body, SessionStoreMemory.make)
        assert.isTrue(right !== undefined && Exit.isSuccess(right))
        const wrong = yield* ended(body, made)
        assert.isTrue(wrong === undefined || Exit.isFailure(wrong))
      }))
  })
}
