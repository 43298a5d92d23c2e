/**
 * Goes on with what was under way in a process that died. Until somebody does, a page that comes back waits for an end that
 * nobody writes. For a server whose sessions are all of one agent; `workers.ts` has several processes, and other agents' sessions.
 */
import { Effect, Option, Schedule, Stream } from "effect"
import { type RunError, SessionStore } from "fiberloop"
import type { SessionInfo } from "fiberloop/services/SessionStore"

interface Agent {
  readonly liveIn: (sessionId: string) => Effect.Effect<unknown>
  readonly resumeStart: (input: { readonly sessionId: string }) => Effect.Effect<unknown, RunError.RunError>
}

/** All sessions, the one that was changed last first, a page at a time. */
export const sessions = Stream.unwrap(
  Effect.map(SessionStore, (store) =>
    Stream.paginate(
      undefined as SessionInfo | undefined,
      (after) =>
        Effect.map(
          store.list({ limit: 100, ...(after === undefined ? {} : { after }) }),
          (page) => [page, Option.fromUndefinedOr(page.at(-1))] as const
        )
    ))
)

/** For as long as the server lives: of a process on another machine, or in another container, it is known half a minute later that it died. */
export const recovering = (agent: Agent) =>
  recover(agent).pipe(
    Effect.catch((error) => Effect.logWarning(`nobody looks for what was left: ${error.message}`)),
    Effect.repeat(Schedule.spaced("30 seconds"))
  )

/** Nobody has its end, also by now: one that somebody aborted meanwhile is not to go on. */
const isLeft = Effect.fnUntraced(function*(agent: Agent, { end, sessionId }: SessionInfo) {
  if (end !== undefined || (yield* agent.liveIn(sessionId)) !== undefined) return false
  const now = yield* (yield* SessionStore).info(sessionId)
  return now !== undefined && now.end === undefined
})

/** Returns once all go on: what goes on does so in the scope of the agent's layer. */
export const recover = (agent: Agent) =>
  sessions.pipe(
    Stream.filterEffect((session) => isLeft(agent, session)),
    Stream.runForEach(({ sessionId }) =>
      agent.resumeStart({ sessionId }).pipe(
        // it lives in another process, or its lease is not over yet: the next look has it
        Effect.catchReason("RetryableError", "SessionBusy", () => Effect.void),
        // one that cannot go on is no reason to leave the others
        Effect.catch((error) => Effect.logWarning(`${sessionId} cannot go on: ${error.message}`))
      )
    )
  )
