/** Deletes a session together with those that agents began for its calls. */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type * as SessionStore from "../../services/SessionStore.ts"
import * as Listing from "./Listing.ts"

/** How many parents are asked for in one step. */
const page = 100

interface Below {
  readonly sessionId: string
  readonly parent: string
}

/** The sessions below some, those of their own calls first; adds them to `seen`, and leaves out those that are in it. */
const below = Effect.fnUntraced(function*(
  store: SessionStore.Store,
  sessionIds: ReadonlyArray<string>,
  seen: Set<string>
): Effect.fn.Return<ReadonlyArray<Below>, SessionStore.StoreError> {
  const found: Array<Below> = []
  for (let level = sessionIds; level.length > 0;) {
    const next: Array<string> = []
    for (const parents of Arr.chunksOf(level, page)) {
      yield* Stream.runForEach(Listing.all(store, { parents }), ({ parent, sessionId }) =>
        Effect.sync(() => {
          // a store that does not know the filter lists all there are
          if (parent === undefined || !parents.includes(parent) || seen.has(sessionId)) return
          seen.add(sessionId)
          found.push({ sessionId, parent })
          next.push(sessionId)
        }))
    }
    level = next
  }
  return found
})

/**
 * See `Sessions.remove`. The outermost goes first: while it is in use, nothing is deleted, and once it is gone, it begins no others.
 * Then the innermost: whatever stays, and wherever this ends, all that is left is found below the outermost.
 */
export const remove = Effect.fnUntraced(function*(
  store: SessionStore.Store,
  sessionId: string
): Effect.fn.Return<ReadonlyArray<string>, SessionStore.StoreError> {
  const own = yield* Effect.result(store.remove(sessionId))
  if (own._tag === "Failure" && !isUnknown(own.failure)) return yield* own.failure
  const deleted = own._tag === "Success" ? [sessionId] : []
  const seen = new Set([sessionId])
  /** sessions with one below them that is in use */
  const kept = new Set<string>()
  let inUse: SessionStore.StoreError | undefined
  // again for those that were deleted: while they were there, agents may have begun others for their calls
  for (let gone = [sessionId]; gone.length > 0;) {
    const others = yield* below(store, gone, seen)
    gone = []
    for (const { parent, sessionId } of others.toReversed()) {
      const result = kept.has(sessionId) ? undefined : yield* Effect.result(store.remove(sessionId))
      if (result?._tag === "Success") gone.push(sessionId)
      // another process may have been faster
      else if (result !== undefined && isUnknown(result.failure)) continue
      else if (result === undefined || result.failure.reason._tag === "SessionBusy") {
        inUse ??= result?.failure
        kept.add(parent)
      } else return yield* result.failure
    }
    deleted.push(...gone)
  }
  if (inUse !== undefined) return yield* inUse
  if (own._tag === "Failure" && seen.size === 1) return yield* own.failure
  return deleted
})

const isUnknown = ({ reason }: SessionStore.StoreError): boolean => reason._tag === "SessionNotFound"
