/**
 * What an append to a session is, and the statement for it that engines share.
 *
 * Does not own how an engine appends under the fence (`SqliteAppend`, `PgAppend`), nor what follows when the answer is lost
 * (`SessionWriter`).
 */
import type * as Arr from "effect/Array"
import type * as Effect from "effect/Effect"
import type * as SqlClient from "effect/sql/SqlClient"
import type * as SqlError from "effect/sql/SqlError"
import type * as SessionStore from "../../services/SessionStore.ts"
import * as SessionRows from "./SessionRows.ts"

/** The session before and after an append, provided that `epoch` is still its fence and `before` what is stored of it. */
export interface Head {
  readonly session: SessionRows.SessionRow["session"]
  readonly epoch: SessionRows.SessionRow["epoch"]
  readonly before: SessionStore.SessionInfo
  readonly next: SessionStore.SessionInfo
  /** where the append drops the aborts that other owners of the session were asked for (`SessionAborts`): the owner that appends */
  readonly onlyAbortsOf?: string | undefined
}

/** Events as they are in their table. */
export type Rows = Arr.NonEmptyReadonlyArray<SessionRows.EventRow>

/**
 * Stores events and the head, all or nothing. Where the fence has moved, stores nothing and returns `false`; where another's
 * event has the place, fails with the error of a duplicate key.
 */
export type Append = (head: Head, rows: Rows) => Effect.Effect<boolean, SqlError.SqlError>

/** Stores events without a fence, in the transaction under way. */
export type Add = (session: Head["session"], rows: Rows) => Effect.Effect<void, SqlError.SqlError>

/** How an engine stores events. */
export interface Appending {
  readonly append: Append
  readonly add: Add
}

/** Brings the row of a session up to date, with `rowValues` and the session as its parameters. */
export const rowUpdate = (sql: SqlClient.SqlClient) =>
  sql`
    UPDATE fiberloop_sessions
    SET head = ${0}, title = ${""}, turns = ${0}, ended = ${""}, updated_at = ${0}, parent = ${""}
    WHERE session = ${0}`

export const rowValues = (info: SessionStore.SessionInfo) =>
  [
    info.head,
    SessionRows.toText(info.title),
    info.turns,
    info.end ?? null,
    info.updatedAt,
    SessionRows.toParent(info)
  ] as const
