/** Deletes a session together with those that agents began for its calls. */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type * as SessionStore from "../../services/SessionStore.ts"
import * as Listing from "./Listing.ts"

type Store = SessionStore.SessionStore["Service"]

/** How many parents are asked for in one step. */
const page = 100

/** The sessions below a session, those of its own calls first. */
const below = Effect.fnUntraced(function*(
  store: Store,
  sessionId: string
): Effect.fn.Return<ReadonlyArray<string>, SessionStore.StoreError> {
  const found = new Set([sessionId])
  for (let level = [sessionId]; level.length > 0;) {
    const next: Array<string> = []
    for (const parents of Arr.chunksOf(level, page)) {
      yield* Stream.runForEach(Listing.all(store, { parents }), ({ parent, sessionId }) =>
        Effect.sync(() => {
          // a store that does not know the filter lists all there are
          if (parent === undefined || !parents.includes(parent) || found.has(sessionId)) return
          found.add(sessionId)
          next.push(sessionId)
        }))
    }
    level = next
  }
  return [...found].slice(1)
})

/** See `Sessions.remove`. The outermost goes first: while it is in use, nothing is deleted. */
export const remove = Effect.fnUntraced(function*(
  store: Store,
  sessionId: string
): Effect.fn.Return<ReadonlyArray<string>, SessionStore.StoreError> {
  const others = yield* below(store, sessionId)
  const deleted: Array<string> = []
  const drop = (id: string) => Effect.result(Effect.tap(store.remove(id), () => Effect.sync(() => deleted.push(id))))
  const own = yield* drop(sessionId)
  if (own._tag === "Failure" && (!isUnknown(own.failure) || others.length === 0)) return yield* own.failure
  const results = yield* Effect.forEach(others, drop)
  // another process may have been faster
  const stayed = results.find((result) => result._tag === "Failure" && !isUnknown(result.failure))
  if (stayed !== undefined) yield* Effect.fromResult(stayed)
  return deleted
})

const isUnknown = ({ reason }: SessionStore.StoreError): boolean => reason._tag === "SessionNotFound"
