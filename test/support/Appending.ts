/** Stores whose sessions store events in another way than those below, and one that is wrong in this. */
import * as Effect from "effect/Effect"
import * as RunEvent from "../../src/run/RunEvent.ts"
import type * as SessionStore from "../../src/services/SessionStore.ts"

export type Changed = (store: SessionStore.Store) => SessionStore.Store

/** With a session's `append` and `head` in place of its own. */
export const by =
  (make: (session: SessionStore.Session) => Pick<SessionStore.Session, "append" | "head">): Changed => (store) => ({
    ...store,
    open: (sessionId, options) =>
      Effect.map(store.open(sessionId, options), (session) => ({ sessionId, ...make(session) }))
  })

/** Confirms what it holds back until the next append: what it holds when the session is given back is lost. */
export const forgetful = by((session) => {
  let kept: ReadonlyArray<RunEvent.Durable> = []
  return {
    head: () => session.head() + kept.length,
    append: (events) =>
      Effect.suspend(() => {
        const isEnd = events.some(RunEvent.isEnd)
        const [first, ...rest] = isEnd ? [...kept, ...events] : kept
        kept = isEnd ? [] : events
        return first === undefined ? Effect.void : session.append([first, ...rest])
      })
  }
})
