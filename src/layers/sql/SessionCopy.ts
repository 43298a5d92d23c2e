/**
 * Copies the rows of a session within the database, and reads what is needed of the copy.
 *
 * Does not own where a log is cut, nor what is added after the cut (`SessionFork`).
 */
import * as Effect from "effect/Effect"
import type * as SqlClient from "effect/sql/SqlClient"
import type * as SqlError from "effect/sql/SqlError"
import * as RunEvent from "../../run/RunEvent.ts"
import * as RunState from "../../run/RunState.ts"
import * as SessionStore from "../../services/SessionStore.ts"
import * as SessionErrors from "../store/SessionErrors.ts"
import type * as EventPlaces from "./EventPlaces.ts"
import type * as SessionClaims from "./SessionClaims.ts"
import * as SessionDialect from "./SessionDialect.ts"
import type * as SessionLog from "./SessionLog.ts"
import type * as SessionRows from "./SessionRows.ts"

type Fault = SqlError.SqlError | SessionStore.StoreError
type Session = SessionClaims.Claim["session"]

/** The copied events; `id` is the session that they come from, for errors. */
interface Copy {
  readonly session: Session
  readonly id: string
  readonly turns: number
}

interface SessionCopy {
  /** Copies the events of a session up to `place` to another one, in the transaction under way. */
  readonly copy: (row: SessionRows.SessionRow, to: Session, place: number) => Effect.Effect<Copy, Fault>
  readonly eventAt: (copy: Copy, seq: number) => Effect.Effect<RunEvent.Durable, Fault>
  /** The title of the first input that has words. */
  readonly titleOf: (copy: Copy) => Effect.Effect<string, Fault>
  /** The state after the events of the run that `place` is in. */
  readonly stateAt: (copy: Copy, place: number) => Effect.Effect<RunState.RunState, Fault>
}

export const make = (
  sql: SqlClient.SqlClient,
  claims: SessionClaims.SessionClaims,
  log: SessionLog.SessionLog,
  places: EventPlaces.EventPlaces
): SessionCopy => {
  const { events, key, keyIn, order, run, within } = SessionDialect.make(sql)

  const copy = Effect.fnUntraced(function*(row: SessionRows.SessionRow, to: Session, place: number) {
    yield* sql`
      INSERT INTO ${events} (${key}, ${run}, type, version, at, body)
      SELECT ${keyIn(to)}, ${run}, type, version, at, body
      FROM ${events} WHERE ${within(row.session, 1, place)} ORDER BY ${order}`
    const [copied] = yield* sql<{ readonly events: number; readonly turns: number; readonly version: number }>`
      SELECT count(*) AS events, count(CASE WHEN type = 'AssistantMessage' THEN 1 END) AS turns, max(version) AS version
      FROM ${events} WHERE ${within(to, 1, SessionDialect.lastSeq)}`
    if (Number(copied!.events) !== place || copied!.version > RunEvent.version) return yield* refuse(row, place)
    const made: Copy = { session: to, id: row.id, turns: Number(copied!.turns) }
    return made
  })

  /** The copied log has a gap or is of a newer version: fails as a reader of the log does. */
  const refuse = Effect.fnUntraced(function*(row: SessionRows.SessionRow, place: number) {
    const found = yield* claims.find(row.id)
    if (found?.session !== row.session) return yield* SessionErrors.notFound(row.id)
    const cursor = log.cursor(row, 1)
    for (let read = 1; read > 0;) read = (yield* cursor(place)).length
    return yield* Effect.die(new Error(`Session "${row.id}" can be read, but was not copied in full`))
  })

  const eventAt = (copy: Copy, seq: number) => Effect.map(log.cursor(copy, seq)(seq), (events) => events[0]!)

  const titleOf = Effect.fnUntraced(function*(copy: Copy) {
    let info = SessionStore.newInfo(copy.id, 0)
    while (info.title === "") {
      const seq = yield* places.after(copy.session, ["RunStarted"], info.head)
      if (seq === undefined) break
      info = SessionStore.evolveInfo(info, yield* eventAt(copy, seq))
    }
    return info.title
  })

  const stateAt = Effect.fnUntraced(function*(copy: Copy, place: number) {
    let state = RunState.empty
    const cursor = log.cursor(copy, (yield* places.upTo(copy.session, ["RunStarted"], place)) ?? 1)
    while (state.seq < place) state = (yield* cursor(place)).reduce(RunState.evolve, state)
    return state
  })

  return { copy, eventAt, titleOf, stateAt }
}
