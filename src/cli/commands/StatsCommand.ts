/** `fiberloop stats`: the numbers of kept runs. Reads sessions one after the other, page by page, and keeps the names of their runs. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as RunStats from "../../run/RunStats.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import * as Sessions from "../../Sessions.ts"
import * as ErrorWords from "../ErrorWords.ts"
import { badValue, codes, Ended, type Refusal } from "../Refusal.ts"
import * as Print from "../render/Print.ts"
import * as RenderStats from "../render/RenderStats.ts"
import * as CountedRuns from "../session/CountedRuns.ts"
import * as Database from "../session/Database.ts"
import * as KeptSession from "../session/KeptSession.ts"
import type { Settings } from "../Settings.ts"
import * as Since from "../Since.ts"
import { Output } from "../terminal/Output.ts"
import { type Signals, untilSignal } from "../terminal/Signals.ts"

export interface Options {
  readonly place: Settings
  /** an id, or the beginning of one */
  readonly session: string | undefined
  readonly since: string | undefined
  readonly agent: string | undefined
}

const stats = Effect.fnUntraced(function*(
  { agent, place, session, since: typed }: Options
): Effect.fn.Return<void, Ended | Refusal, Output | Scope.Scope> {
  const { stderr } = yield* Output
  if (agent?.trim() === "") return yield* badValue("--agent is empty: name an agent, or leave it out for all of them")
  const now = yield* Clock.currentTimeMillis
  const since = typed === undefined ? undefined : yield* Since.check("--since", typed, now)
  const filter = { agent, since }
  const { isEmpty, leftOut, stats } = session === undefined
    ? yield* ofAll(place, filter)
    : yield* ofOne(place, filter, session)
  const summary = RunStats.summarize(stats)
  const say = (line: string) => stderr.write(`${ErrorWords.line(line)}\n`)
  if (isEmpty) yield* say(Database.noSessions(place))
  else if (summary.runs === 0) yield* say(noRuns(filter, summary))
  if (place.json) yield* Print.print(`${RenderStats.json(summary)}\n`)
  else if (summary.runs > 0) yield* Print.print(RenderStats.text(summary, yield* Print.tableOf(place.isPlain)))
  for (const line of leftOut) yield* say(line)
  if (leftOut.length > 0) return yield* new Ended({ code: codes.failed })
})

interface Found {
  readonly stats: RunStats.RunStats
  readonly isEmpty: boolean
  /** why sessions are left out, one sentence each */
  readonly leftOut: ReadonlyArray<string>
}

const ofOne = Effect.fnUntraced(function*(
  place: Settings,
  filter: RunStats.Filter,
  session: string
): Effect.fn.Return<Found, Refusal, Scope.Scope> {
  const { info, store } = yield* KeptSession.toRead(place, session)
  const runs = CountedRuns.make()()
  const stats = yield* Effect.mapError(fold(store, info.sessionId, runs, RunStats.make(filter)), ErrorWords.refusal)
  return { stats, isEmpty: false, leftOut: [] }
})

/**
 * The numbers of every session changed since then, a run that several of them have once. Sessions that this version cannot read are
 * left out and named; a session removed meanwhile is ignored.
 */
const ofAll = Effect.fnUntraced(function*(
  place: Settings,
  filter: RunStats.Filter
): Effect.fn.Return<Found, Refusal, Scope.Scope> {
  const store = yield* Database.readable(place)
  let stats = RunStats.make(filter)
  let isEmpty = true
  const leftOut: Array<string> = []
  if (store === undefined) return { stats, isEmpty, leftOut }
  const isRecent = ({ updatedAt }: SessionStore.SessionInfo) => {
    isEmpty = false
    return filter.since === undefined || updatedAt >= filter.since
  }
  // last changed first: after one that is too old, none is new enough
  const recent = Stream.map(
    Stream.takeWhile(Sessions.list(), isRecent),
    ({ createdAt, sessionId }) => ({ createdAt, sessionId })
  )
  const sessions = yield* Database.asked(store, Stream.runCollect(recent))
  const runsOf = CountedRuns.make()
  const count = Effect.fnUntraced(function*({ sessionId }: Pick<SessionStore.SessionInfo, "sessionId">) {
    stats = yield* fold(store, sessionId, runsOf(), stats).pipe(
      Effect.catchReason("NonRetryableError", "SessionNotFound", () => Effect.succeed(stats)),
      Effect.catchReason("NonRetryableError", "StoreRefused", (_, error) => {
        leftOut.push(`session ${JSON.stringify(sessionId)} is left out: ${error.message}`)
        return Effect.succeed(stats)
      })
    )
  })
  const oldestFirst = sessions.toSorted((a, b) => a.createdAt - b.createdAt)
  yield* Database.asked(store, Effect.forEach(oldestFirst, count, { discard: true }))
  return { stats, isEmpty, leftOut }
})

/** The numbers with those of a session added, all of it or nothing. */
const fold = (store: SessionStore.Store, sessionId: string, runs: CountedRuns.Runs, stats: RunStats.RunStats) =>
  Stream.runFold(
    store.read(sessionId),
    () => stats,
    runs.add
  ).pipe(
    Effect.map(RunStats.endSession),
    Effect.tap(() => Effect.sync(runs.close))
  )

const noRuns = ({ agent, since }: RunStats.Filter, { agents }: RunStats.Summary): string => {
  const when = since === undefined ? "" : ` since ${new Date(since).toISOString()}`
  const names = Object.keys(agents)
  if (agent === undefined || names.length === 0) return `no run was started${when}`
  return `no run${when} belongs to the agent ${JSON.stringify(agent)}: there are runs of ` +
    names.slice(0, 5).map((name) => JSON.stringify(name)).join(", ") + (names.length > 5 ? " and others" : "")
}

export const run = (options: Options): Effect.Effect<void, Ended | Refusal, Output | Signals> =>
  untilSignal(Effect.scoped(stats(options)))
