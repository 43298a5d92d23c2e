/** The errors of session stores, worded once, and the checks on an append that every store makes. */
import type * as Arr from "effect/Array"
import * as Bounds from "../../run/log/Bounds.ts"
import * as RunError from "../../run/RunError.ts"
import * as RunEvent from "../../run/RunEvent.ts"
import * as SessionStore from "../../services/SessionStore.ts"

/** `runId` is absent where the owner has only just come and is not known yet. */
export const busy: (sessionId: string, runId?: string) => SessionStore.StoreError = RunError.sessionBusy

export const notFound: (sessionId: string) => SessionStore.StoreError = RunError.sessionNotFound

export const stale = (sessionId: string): SessionStore.StoreError =>
  new RunError.NonRetryableError({
    _tag: "StaleWriter",
    sessionId,
    message:
      `This writer no longer has session "${sessionId}": another has it, it was removed, or the writer's scope has closed; ` +
      "nothing was written. Open it again to go on."
  })

export const unavailable = (message: string): SessionStore.StoreError =>
  new RunError.RetryableError({ _tag: "StoreUnavailable", message })

export const refused = (message: string): SessionStore.StoreError =>
  new RunError.NonRetryableError({ _tag: "StoreRefused", message })

export const closed = (): SessionStore.StoreError =>
  refused(
    "The session store is closed: the scope that it was made in has ended. Keep that scope open for as long as the store is used."
  )

/** `near` are the events next to `at` after which the log may be cut; empty where it has none. */
export const noPlace = (
  sessionId: string,
  at: number | undefined,
  near: ReadonlyArray<number>
): SessionStore.StoreError =>
  RunError.invalidInput(
    "at",
    at === undefined || near.length === 0
      ? `Session "${sessionId}" cannot be forked yet: none of its turns has ended. Wait for the first one.`
      : `Session "${sessionId}" cannot be forked at event ${at}, where neither a turn nor a run ends. ` +
        (near.length === 1
          ? `The nearest place is event ${near[0]}.`
          : `The nearest places are events ${near.join(" and ")}.`)
  )

export const taken = (sessionId: string): SessionStore.StoreError =>
  RunError.invalidInput(
    "to",
    `Session "${sessionId}" already exists; nothing was changed. Fork to another id.`
  )

/** A newer version wrote to the log; nothing is delivered from this event on. */
export const newerVersion = (
  sessionId: string,
  event: { readonly seq: number; readonly version: number }
): SessionStore.StoreError =>
  refused(
    `Event ${event.seq} of session "${sessionId}" has version ${event.version}, this fiberloop reads up to version ` +
      `${RunEvent.version}; nothing was changed. Update fiberloop to read it.`
  )

/** An event that `EventMigrations` cannot bring to this version. */
export const unreadable = (
  sessionId: string,
  event: { readonly seq: number; readonly version: number }
): SessionStore.StoreError =>
  event.version > RunEvent.version
    ? newerVersion(sessionId, event)
    : damaged(sessionId, event.seq, `has version ${event.version} and cannot be read as such`)

export const damaged = (sessionId: string, seq: number, how: string): SessionStore.StoreError =>
  refused(`Event ${seq} of session "${sessionId}" ${how}: its log is damaged. Nothing was changed; restore a backup.`)

/** The log goes on after the event that the session's row names as its last, `head`. */
export const isBehind = ({ head, id }: { readonly head: number; readonly id: string }): SessionStore.StoreError =>
  damaged(id, head + 1, `comes after event ${head}, which its row in fiberloop_sessions has as the last`)

/** An error for the first of `events` with more than `maxEventBytes` of JSON. */
export const tooLarge = (events: Arr.NonEmptyReadonlyArray<RunEvent.Durable>): SessionStore.StoreError | undefined => {
  if (Bounds.isSurelyWithin(events, SessionStore.maxEventBytes)) return undefined
  for (const event of events) {
    const bytes = Bounds.above(event, SessionStore.maxEventBytes)
    if (bytes !== undefined) {
      return RunError.tooLarge(`Event ${event.seq} (${event._tag})`, bytes, SessionStore.maxEventBytes)
    }
  }
  return undefined
}

/** The defect of a caller whose events do not continue from `head`, one by one, or are of no run. */
export const checkPlaces = (head: number, events: Arr.NonEmptyReadonlyArray<RunEvent.Durable>): Error | undefined => {
  for (let i = 0; i < events.length; i++) {
    const { runId, seq } = events[i]!
    if (seq !== head + 1 + i) return new Error(`Event ${seq} was appended where ${head + 1 + i} is next`)
    if (runId === "") return new Error(`Event ${seq} was appended without a run`)
  }
  return undefined
}

/** Databases keep neither NUL nor lone surrogates in text: such ids would be equal to others. */
export const checkIds = (...ids: ReadonlyArray<string>): SessionStore.StoreError | undefined => {
  const bad = ids.find((id) => id.includes("\0") || !id.isWellFormed())
  return bad === undefined
    ? undefined
    : refused(
      `The id ${JSON.stringify(bad)} holds NUL or half a surrogate pair, which databases cannot store. ` +
        "Use another id."
    )
}
