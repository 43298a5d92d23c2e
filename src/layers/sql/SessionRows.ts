/**
 * Converts sessions and events to rows and back. A body holds only what no column does; in SQLite, most rows do not repeat the
 * run of the row before.
 *
 * Does not own the tables (`SessionMigrations`), nor how engines find rows in them (`SessionDialect`).
 */
import * as Arr from "effect/Array"
import * as InputCheck from "../../run/InputCheck.ts"
import type * as Pointer from "../../run/Pointer.ts"
import type * as RunEvent from "../../run/RunEvent.ts"
import * as SessionStore from "../../services/SessionStore.ts"
import type { Owner } from "../OwnerLiveness.ts"

/** Drivers return 64-bit integers as numbers or as texts. */
type Integer = number | string

interface InfoRow {
  readonly id: string
  readonly head: number
  readonly title: string
  readonly turns: number
  readonly ended: string | null
  readonly parent: string | null
  readonly created_at: Integer
  readonly updated_at: Integer
}

export interface SessionRow extends InfoRow {
  readonly session: Integer
  readonly epoch: Integer
  readonly owner: string | null
  readonly lease: Integer
}

/** The owner of a session, as of when its row was looked at. */
export interface OwnedRow extends Pick<SessionRow, "owner"> {
  /** whether the owner's lease was still running then */
  readonly leased: boolean | number
}

/** A row with the state of its lease when it was looked at. */
export interface SeenRow extends SessionRow, OwnedRow {
  /** whether the log went on after `head` then: row and log do not belong together */
  readonly behind: boolean | number
}

/** The same, as far as a list needs it. */
export interface ListedRow extends InfoRow, OwnedRow {}

/** Values in the order of the query: a third faster to read than objects. */
export type EventRow = readonly [
  seq: number,
  run: string,
  type: string,
  version: number,
  at: Integer,
  body: string
]

export const toInfo = (row: InfoRow): SessionStore.SessionInfo => ({
  sessionId: row.id,
  title: row.title,
  createdAt: Number(row.created_at),
  updatedAt: Number(row.updated_at),
  head: row.head,
  turns: row.turns,
  end: (row.ended ?? undefined) as SessionStore.SessionInfo["end"],
  ...(row.parent === null ? {} : { parent: row.parent })
})

/** `undefined` in a free session, and where the column is damaged: the fence protects the log. */
export const toOwner = (row: Pick<SessionRow, "owner">): Owner | undefined =>
  row.owner === null ? undefined : parseObject(row.owner) as Owner | undefined

/** A text that every database can take. */
export const toText = (text: string): string => text.replaceAll("\0", "\ufffd").toWellFormed()

/** The parent of a session as it is in its row; none where that can be no session's id, which may be longer than an index holds. */
export const toParent = ({ parent }: { readonly parent?: string | undefined }): string | null =>
  parent === undefined || InputCheck.badId("parent", parent) !== undefined ? null : parent

/** The parent that the body of a session's first event names. */
export const parentIn = (body: string): string | undefined => {
  const { parent } = (parseObject(body) ?? {}) as { readonly parent?: Partial<Pointer.Parent> | null }
  return typeof parent?.sessionId === "string" ? parent.sessionId : undefined
}

/** The fields that no column holds, as JSON, which leaves out those that are undefined. */
const toBody = ({ _tag: _1, at: _2, runId: _3, seq: _4, version: _5, ...body }: RunEvent.Durable): string =>
  JSON.stringify(body)

export const toRow = (event: RunEvent.Durable): EventRow => [
  event.seq,
  event.runId,
  event._tag,
  event.version,
  event.at,
  toBody(event)
]

const landmarks: Record<SessionStore.Landmark, true> = { RunStarted: true, ContextCompacted: true }

/**
 * The rows of one statement as SQLite keeps them. A row holds its run if it is the first, if the one before it is of another run,
 * or if it is looked for by its run; the others hold an empty text.
 */
export const withNewRuns = (rows: Arr.NonEmptyReadonlyArray<EventRow>): Arr.NonEmptyReadonlyArray<EventRow> =>
  Arr.map(rows, (row, i) => {
    const [seq, run, type, version, at, body] = row
    const isOfRunBefore = i > 0 && rows[i - 1]![1] === run
    return isOfRunBefore && !(type in landmarks) ? [seq, "", type, version, at, body] : row
  })

/** `undefined` where an event may exceed `maxEventBytes`, or does exceed what a text can hold. */
export const toSmallRows = (
  events: Arr.NonEmptyReadonlyArray<RunEvent.Durable>
): Arr.NonEmptyReadonlyArray<EventRow> | undefined => {
  try {
    const rows = Arr.map(events, toRow)
    return rows.every(isSmall) ? rows : undefined
  } catch {
    return undefined
  }
}

/** A character is at most six bytes of JSON; numbers and names of columns are few. */
const isSmall = ([, run, type, , , body]: EventRow): boolean =>
  (run.length + type.length + body.length) * 6 + 512 <= SessionStore.maxEventBytes

/**
 * `run` is the row's, or that of the one before where it holds none. `undefined` where the body is not a JSON object. The keys
 * are in a fixed order: those of columns, then the body's. Reads columns by position: destructuring the row makes reading a tenth
 * slower.
 */
export const toEvent = (row: EventRow, run: string): RunEvent.Durable | undefined => {
  const body = parseObject(row[5])
  if (body === undefined) return undefined
  return { _tag: row[2], seq: row[0], at: Number(row[4]), runId: run, version: row[3], ...body } as RunEvent.Durable
}

/** What is on its way to another process, without its `id`, which has a column. */
export const toSentBody = (sent: SessionStore.Sent): string => JSON.stringify({ ...sent, id: undefined })

/** `undefined` where the body is not that. */
export const toSent = (id: string, body: string): SessionStore.Sent | undefined => {
  const sent = parseObject(body)
  return sent && "_tag" in sent ? { id, ...sent } as SessionStore.Sent : undefined
}

const parseObject = (text: string): object | undefined => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}
