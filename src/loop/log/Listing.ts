/** The sessions of a store, one after the other: asked for page by page, as they are taken. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type * as SessionStore from "../../services/SessionStore.ts"

/** How many sessions are asked for in one step. */
const page = 100

/** The sessions that `list` returns, the last changed first. One that changes before it is taken is passed over. */
export const all = (
  store: Pick<SessionStore.Store, "list">,
  options: Omit<SessionStore.ListOptions, "limit"> = {}
): Stream.Stream<SessionStore.SessionInfo, SessionStore.StoreError> =>
  Stream.paginate(options.after, (after) =>
    Effect.map(
      store.list({ ...options, after, limit: page }),
      (infos) => [infos, Option.fromUndefinedOr(infos.length < page ? undefined : infos.at(-1))] as const
    ))
