/**
 * Goes on with what was under way in a process that died. Until somebody does, a page that comes back waits for an end that
 * nobody writes. For a server whose sessions are all of one agent; `workers.ts` has several processes, and other agents' sessions.
 */
import { Effect, Option, Stream } from "effect"
import { type RunError, SessionStore } from "fiberloop"
import type { SessionInfo } from "fiberloop/services/SessionStore"

interface Resumes {
  readonly resumeStart: (input: { readonly sessionId: string }) => Effect.Effect<unknown, RunError.RunError>
}

/** All sessions, the one that was changed last first, a page at a time. */
const sessions = Stream.unwrap(
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

/** Returns once all go on: what goes on does so in the scope of the agent's layer. */
export const recover = (agent: Resumes) =>
  sessions.pipe(
    Stream.filter(({ end }) => end === undefined),
    Stream.runForEach(({ sessionId }) =>
      agent.resumeStart({ sessionId }).pipe(
        // it lives in another process
        Effect.catchReason("RetryableError", "SessionBusy", () => Effect.void),
        // one that cannot go on is no reason to leave the others
        Effect.catch((error) => Effect.logWarning(`${sessionId} cannot go on: ${error.message}`))
      )
    )
  )
