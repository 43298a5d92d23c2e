/** How sessions and events stand in their tables, and back. No fact is stored twice: a body holds what no column does. */
import type * as RunEvent from "../run/RunEvent.ts"
import type * as SessionStore from "../services/SessionStore.ts"

/** Drivers give 64-bit integers as numbers or as texts. */
type Integer = number | string

export interface InfoRow {
  readonly id: string
  readonly head: number
  readonly title: string
  readonly turns: number
  readonly ended: string | null
  readonly created_at: Integer
  readonly updated_at: Integer
}

export interface SessionRow extends InfoRow {
  readonly session: Integer
  readonly epoch: Integer
  readonly owner: string | null
  readonly lease: Integer
}

export interface EventRow {
  readonly seq: number
  readonly run: string
  readonly type: string
  readonly version: number
  readonly at: Integer
  readonly body: string
}

export const toInfo = (row: InfoRow): SessionStore.SessionInfo => ({
  sessionId: row.id,
  title: row.title,
  createdAt: Number(row.created_at),
  updatedAt: Number(row.updated_at),
  head: row.head,
  turns: row.turns,
  end: (row.ended ?? undefined) as SessionStore.SessionInfo["end"]
})

/** A title that every database can keep. */
export const toTitle = (title: string): string => title.replaceAll("\0", "\ufffd").toWellFormed()

/** What no column holds, as JSON, which leaves out what is undefined. */
export const toBody = (event: RunEvent.Durable): string =>
  JSON.stringify({ ...event, _tag: undefined, seq: undefined, at: undefined, runId: undefined, version: undefined })

/** `undefined` where the body is no JSON object. Its keys stand in a fixed order: those of columns, then the body's. */
export const toEvent = (row: EventRow): RunEvent.Durable | undefined => {
  try {
    const body = JSON.parse(row.body)
    if (typeof body !== "object" || body === null || Array.isArray(body)) return undefined
    return { _tag: row.type, seq: row.seq, at: Number(row.at), runId: row.run, version: row.version, ...body }
  } catch {
    return undefined
  }
}
