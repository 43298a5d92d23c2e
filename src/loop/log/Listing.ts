/** The sessions of a store, one after the other: asked for page by page, as they are taken. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type * as SessionStore from "../../services/SessionStore.ts"

/** How many sessions are asked for in the first step; in each one after it twice as many, since a step looks at all in use. */
const firstPage = 100
const largestPage = 3200

/** The sessions that `list` returns, the last changed first. One that changes before it is taken is passed over. */
export const all = (
  store: Pick<SessionStore.Store, "list">,
  options: Omit<SessionStore.ListOptions, "limit"> = {}
): Stream.Stream<SessionStore.SessionInfo, SessionStore.StoreError> =>
  Stream.paginate(
    { after: options.after, page: firstPage },
    ({ after, page }) =>
      Effect.map(store.list({ ...options, after, limit: page }), (infos) => {
        const next = { after: infos.at(-1), page: Math.min(page * 2, largestPage) }
        return [infos, infos.length < page ? Option.none() : Option.some(next)] as const
      })
  )
