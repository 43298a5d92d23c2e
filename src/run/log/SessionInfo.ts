/**
 * What a list of sessions shows of each without reading its log: a fold of its events. Pure.
 *
 * Does not own where it is kept; a store does.
 */
import * as Message from "../Message.ts"
import * as RunEvent from "../RunEvent.ts"

/**
 * What `list` shows of a session; times in whole milliseconds since the epoch. A fork was created and updated when it was
 * made.
 */
export interface SessionInfo {
  readonly sessionId: string
  /** the first words of the first input, at most 80 characters, on one line */
  readonly title: string
  readonly createdAt: number
  /** time of the last event */
  readonly updatedAt: number
  /** `seq` of the last event */
  readonly head: number
  readonly turns: number
  /**
   * how the last run ended; `undefined` if it has not, or if it goes on by itself: its process died or was shut down, or its store
   * did not answer
   */
  readonly end: RunEvent.End["_tag"] | undefined
  /** the session whose call its first run works for; left out where that works for none, and in a fork, which no agent began */
  readonly parent?: string
}

/**
 * Folds an event into what `list` shows. Stores keep the result beside the log, or make it on request; SQLite does so
 * in SQL, in the view of `layers/sql/SessionMigrations`, which must change together with what is counted here.
 */
export const evolveInfo = (info: SessionInfo, event: RunEvent.Durable): SessionInfo => {
  const next = { ...info, head: event.seq, updatedAt: event.at }
  switch (event._tag) {
    case "RunStarted": {
      const first = event.input.messages[0]
      const title = info.title !== "" || first === undefined ? info.title : titleOf(first)
      const began = { ...next, end: undefined, title }
      return info.head > 0 || event.parent === undefined ? began : { ...began, parent: event.parent.sessionId }
    }
    case "RunResumed":
      return { ...next, end: undefined }
    case "AssistantMessage":
      return { ...next, turns: info.turns + 1 }
    case "RunCompleted":
    case "RunLimited":
    case "RunSuspended":
    case "RunFailed":
    case "RunAborted":
      // whoever wrote the end, for a dead process for instance, did not continue the run
      return { ...next, end: RunEvent.isLeft(event) ? undefined : event._tag }
    default:
      return next
  }
}

/** What a session that was just created shows. */
export const newInfo = (sessionId: string, at: number): SessionInfo => ({
  sessionId,
  title: "",
  createdAt: at,
  updatedAt: at,
  head: 0,
  turns: 0,
  end: undefined
})

const titleOf = (message: Message.UserMessage): string => {
  const line = Message.textOf(message.content).replace(/\s+/g, " ").trim()
  const chars = Array.from(line.slice(0, 200))
  return chars.length > 80 ? `${chars.slice(0, 79).join("")}…` : line
}
