/**
 * A session as lines of JSON, for people, golden files and other tools: a header, then one durable event a line, exact.
 *
 *     {"format":"fiberloop/session","version":1,"sessionId":"...","events":2}
 *     {"_tag":"RunStarted","seq":1,"at":1700000000000,"runId":"...","version":1,...}
 *     {"_tag":"RunCompleted","seq":2,...}
 *
 * The header says how many events there are, so that missing lines at the end are noticed. Pure; does not own where
 * lines come from or go to. Errors name the line, never its content.
 */
import * as Result from "effect/Result"
import * as SchemaIssue from "effect/SchemaIssue"
import * as SchemaParser from "effect/SchemaParser"
import * as RunError from "../RunError.ts"
import * as RunEvent from "../RunEvent.ts"
import * as Bounds from "./Bounds.ts"
import * as EventMigrations from "./EventMigrations.ts"
import type * as SnapshotCheck from "./SnapshotCheck.ts"

/** The version of the lines; an event has its own version. */
export const version = 1

const format = "fiberloop/session"

export interface Header {
  readonly sessionId: string
  /** how many lines follow */
  readonly events: number
}

type Refusal = Extract<RunError.RunRefusal, { readonly _tag: "InvalidInput" | "StoreRefused" }>
export type LineError = RunError.NonRetryableError<Refusal>
type Read<A> = Result.Result<A, LineError>

export const fromHeader = ({ events, sessionId }: Header): string =>
  JSON.stringify({ format, version, sessionId, events })

/** Equal events give equal lines, whatever store they come from: the fields that all events have come first. */
export const fromEvent = (event: RunEvent.Durable): string => {
  const { _tag, at, runId, seq, version, ...fields } = event
  return JSON.stringify({ _tag, seq, at, runId, version, ...fields })
}

/** The header, from line 1; refuses a line that is not one, or that a newer version made. */
export const toHeader = (line: string): Read<Header> =>
  Result.flatMap(object(1, line), (header) => {
    if (header["format"] !== format) return damaged(1, "is not the header of a session that fiberloop exported")
    if (isCount(header["version"]) && header["version"] > version) return newer(1, header["version"], version)
    return isHeader(header)
      ? Result.succeed({ sessionId: header.sessionId, events: header.events })
      : damaged(1, `is a header ${firstWrong(header, headerFields)}`)
  })

/**
 * The event of a line, as this version writes it: migrated by `steps`, checked field by field if its type is known,
 * kept as it is if not. Event `seq` is in line `seq + 1`.
 */
export const toEvent = (line: string, seq: number, steps: EventMigrations.Steps): Read<RunEvent.Durable> => {
  const at = seq + 1
  return Result.flatMap(object(at, line), (stored) => {
    if (!isEvent(stored)) return damaged(at, `holds an event ${firstWrong(stored, eventFields)}`)
    if (stored.seq !== seq) return damaged(at, `holds event ${stored.seq}, but event ${seq} is next`)
    if (stored.version > RunEvent.version) return newer(at, stored.version, RunEvent.version)
    const event = EventMigrations.migrate(stored, steps)
    if (event === undefined) {
      return damaged(at, `holds an event of version ${stored.version} that cannot be read as such`)
    }
    const wrong = Bounds.isTooDeep(line, Bounds.deepestEvent) ? "that is nested too deeply" : wrongIn(event)
    if (wrong === undefined) return Result.succeed(event)
    return damaged(at, `holds ${checks.has(event._tag) ? `a ${event._tag}` : "an event"} ${wrong}`)
  })
}

/** A line after the last event: accepted if blank, as editors and pastes leave them, else one too many. */
export const afterEnd = ({ events }: Header, line: string): Read<void> =>
  line.trim() === ""
    ? Result.void
    : Result.fail(invalid(`The header names ${events} events, but there are more`))

/** The error for missing lines. */
export const checkCount = ({ events }: Header, found: number): LineError | undefined =>
  found === events
    ? undefined
    : invalid(`The header names ${events} events, but there are ${found}: the rest was cut off`)

/** The error for a snapshot that does not follow from its log. */
export const untrue = ({ path, seq }: SnapshotCheck.Wrong): LineError =>
  invalid(`Line ${seq + 1} holds a ContextCompacted whose "${path}" does not follow from the lines before it`)

/** The error for lines that cannot be used; `what` says why. */
export const invalid = (what: string): LineError =>
  new RunError.NonRetryableError<Refusal>({
    _tag: "InvalidInput",
    field: "lines",
    message: `${what}; nothing was imported. Export the session again, or correct the lines if they were edited.`
  })

const damaged = (line: number, what: string): Read<never> => Result.fail(invalid(`Line ${line} ${what}`))

const newer = (line: number, found: number, known: number): Read<never> =>
  Result.fail(
    new RunError.NonRetryableError<Refusal>({
      _tag: "StoreRefused",
      message:
        `Line ${line} is of version ${found}, this fiberloop reads up to version ${known}; nothing was imported. ` +
        "Update fiberloop to import it."
    })
  )

const object = (line: number, text: string): Read<Line> => {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return Result.succeed({ ...value })
  } catch {
    // said below
  }
  return damaged(line, text.trim() === "" ? "is empty" : "is not a JSON object")
}

type Line = Readonly<Record<string, unknown>>
type Fields = Readonly<Record<string, (value: unknown) => boolean>>

const isHeader = (value: Line): value is Header & Line => firstWrong(value, headerFields) === undefined

const isEvent = (value: Line): value is EventMigrations.Stored & Line => firstWrong(value, eventFields) === undefined

/** Names the first field that is not as it has to be, in the order in which they are written. */
const firstWrong = (value: Line, fields: Fields): string | undefined => {
  for (const name in fields) if (!fields[name]!(value[name])) return wrongAt(name)
  return undefined
}

const wrongAt = (path: string): string => `whose "${path}" is missing or wrong`

const isText = (value: unknown): value is string =>
  typeof value === "string" && value !== "" && value.isWellFormed() && !value.includes("\0")

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0

const headerFields: Fields = { version: (value) => value === version, sessionId: isText, events: isCount }

/** Databases keep these fields in their own columns: integers, and text without NUL and lone surrogates. */
const eventFields: Fields = {
  _tag: isText,
  seq: isCount,
  at: Number.isSafeInteger,
  runId: isText,
  version: Number.isSafeInteger
}

const checks = new Map<string, (event: unknown) => Result.Result<unknown, SchemaIssue.Issue>>(
  RunEvent.Durable.members.map((
    member
  ) => [member.fields._tag.schema.literal, SchemaParser.decodeUnknownResult(member)])
)

const pathsOf = SchemaIssue.makeFormatterStandardSchemaV1()

/** Where an event of a known type does not fit its type, or that an event of any type cannot be written again. */
const wrongIn = (event: RunEvent.Durable): string | undefined => {
  try {
    fromEvent(event)
    const result = checks.get(event._tag)?.(event)
    if (result === undefined || Result.isSuccess(result)) return undefined
    const path = pathsOf(result.failure).issues[0]?.path ?? []
    return wrongAt(path.map(String).join("."))
  } catch {
    return "that is nested too deeply"
  }
}
