/** `fiberloop sessions`: lists the kept sessions, last changed first. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as SessionStore from "../../services/SessionStore.ts"
import * as Sessions from "../../Sessions.ts"
import * as ErrorWords from "../ErrorWords.ts"
import type { Ended, Refusal } from "../Refusal.ts"
import * as Invocation from "../render/Invocation.ts"
import * as Print from "../render/Print.ts"
import * as RenderSessions from "../render/RenderSessions.ts"
import * as Database from "../session/Database.ts"
import * as Settings from "../Settings.ts"
import { Output } from "../terminal/Output.ts"
import { type Signals, untilSignal } from "../terminal/Signals.ts"

export interface Options {
  readonly place: Settings.Settings
  readonly limit: string | undefined
  /** with those that agents began for calls */
  readonly all: boolean
  /** only those whose ids begin with it */
  readonly prefix: string | undefined
}

/** As many as people read at once; programs get all of them. */
const defaultLimit = 20

const list = Effect.fnUntraced(function*(
  { all, limit, place, prefix }: Options
): Effect.fn.Return<void, Ended | Refusal, Output | Scope.Scope> {
  const { stderr } = yield* Output
  const most = (yield* Settings.whole("--limit", limit)) ?? (place.json ? undefined : defaultLimit)
  const store = yield* Database.readable(place)
  const listed = (options: SessionStore.ListOptions) =>
    store === undefined ? Effect.succeed([]) : Effect.mapError(store.list({ ...options, prefix }), ErrorWords.refusal)
  const beginning = prefix === undefined ? [] : ["--prefix", prefix]
  const found = yield* listed({
    ...(all ? {} : { parents: [undefined] }),
    ...(most === undefined ? {} : { limit: most + 1 })
  })
  if (found.length === 0) {
    const hidden = all ? [] : yield* listed({ limit: 1 })
    const none = hidden.length > 0
      ? "there are only sessions that agents began for calls: " +
        Invocation.of("sessions", ["--all", ...beginning], place.flags)
      : prefix === undefined
      ? Database.noSessions(place)
      : `there is no session whose id begins with ${JSON.stringify(prefix)}: ${
        Invocation.of("sessions", [], place.flags)
      }`
    return yield* stderr.write(`${ErrorWords.line(none)}\n`)
  }
  const shown = found.slice(0, most)
  const look = {
    ...(yield* Print.tableOf(place.isPlain)),
    now: yield* Clock.currentTimeMillis,
    decided: place.json || store === undefined ? new Set<string>() : yield* decidedOf(store, shown)
  }
  yield* Print.print(place.json ? shown.map(RenderSessions.json).join("") : RenderSessions.lines(shown, look))
  if (shown.length < found.length) {
    const more = Invocation.of(
      "sessions",
      ["--limit", String(2 * shown.length), ...(all ? ["--all"] : []), ...beginning],
      place.flags
    )
    yield* stderr.write(`There are more: ${more}\n`)
  }
})

/** Ids of the suspended sessions in which nothing waits for an answer any more. */
const decidedOf = Effect.fnUntraced(function*(
  store: SessionStore.Store,
  infos: ReadonlyArray<SessionStore.SessionInfo>
): Effect.fn.Return<ReadonlySet<string>, Refusal> {
  const decided = new Set<string>()
  for (const { end, sessionId } of infos) {
    if (end !== "RunSuspended") continue
    // a session that cannot be read, or is removed meanwhile, is listed unchanged
    const known = Effect.catchReasons(Sessions.approvals(sessionId), "NonRetryableError", {
      SessionNotFound: () => Effect.succeed(undefined),
      StoreRefused: () => Effect.succeed(undefined)
    })
    const waiting = yield* Database.asked(store, known)
    if (waiting?.length === 0) decided.add(sessionId)
  }
  return decided
})

export const run = (options: Options): Effect.Effect<void, Ended | Refusal, Output | Signals> =>
  untilSignal(Effect.scoped(list(options)))
