/**
 * Exports sessions from a store and imports them into one, as lines of JSON (`run/log/SessionLine`): for people, golden
 * files, other tools, and for moving a session to another database. An imported session is exported as the same bytes,
 * except for its id.
 *
 * Does not own files, pipes or line ends.
 */
import type * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import * as InputCheck from "./run/InputCheck.ts"
import * as Fork from "./run/log/Fork.ts"
import * as SessionLine from "./run/log/SessionLine.ts"
import * as SnapshotCheck from "./run/log/SnapshotCheck.ts"
import * as RunError from "./run/RunError.ts"
import type * as RunEvent from "./run/RunEvent.ts"
import * as RunState from "./run/RunState.ts"
import { Migrations } from "./services/Migrations.ts"
import * as SessionStore from "./services/SessionStore.ts"

/**
 * The lines of a session, without line ends: read page by page, never held in full. If the session is being written to,
 * they end with what was stored when the export began. Fails as the store's `read` does.
 */
export const toLines = (
  sessionId: string
): Stream.Stream<string, SessionStore.StoreError, SessionStore.SessionStore> =>
  Stream.unwrap(Effect.gen(function*() {
    const store = yield* SessionStore.SessionStore
    const info = yield* store.info(sessionId)
    if (info === undefined) return yield* RunError.sessionNotFound(sessionId)
    const header = SessionLine.fromHeader({ sessionId, events: info.head })
    const events = store.read(sessionId, { to: info.head })
    return Stream.concat(Stream.make(header), Stream.map(events, SessionLine.fromEvent))
  }))

/** How lines are imported. */
export interface Options {
  /** the id of the imported session; default: the one it had */
  readonly to?: string | undefined
}

/** Lines that were checked and make up a session. */
export interface Decoded {
  readonly sessionId: string
  readonly events: Arr.NonEmptyReadonlyArray<RunEvent.Durable>
}

/**
 * Adds the session in these lines to the store, whole or not at all, also when the process dies meanwhile: every line
 * is checked first, then all are written by one append. Holds the session's events in memory once.
 *
 * `InvalidInput` names the line that is damaged, missing or surplus, or whose snapshot does not follow from the lines
 * before it; or the id that is in use or that no run may have. `StoreRefused` names the line that a newer version made.
 * Events of older versions are stored as this version writes them, events of unknown types as they are. A log that ends
 * inside a run is imported too, as if its process had crashed. If it ends inside a tool round, with a paused call, or
 * after a person allowed a call that has not run, it is imported only under its own id, since the original session may
 * still carry out those calls.
 */
export const fromLines = <E, R>(
  lines: Stream.Stream<string, E, R>,
  options: Options = {}
): Effect.Effect<SessionStore.SessionInfo, E | SessionStore.StoreError, R | SessionStore.SessionStore> =>
  Effect.flatMap(decode(lines, options), add)

/** The first half of `fromLines`: all checks that need no store. */
export const decode = Effect.fnUntraced(function*<E, R>(
  lines: Stream.Stream<string, E, R>,
  { to }: Options = {}
): Effect.fn.Return<Decoded, E | SessionStore.StoreError, R> {
  const steps = yield* Migrations
  const events: Array<RunEvent.Durable> = []
  let header: SessionLine.Header | undefined
  const take = (line: string): Result.Result<unknown, SessionLine.LineError> => {
    if (header === undefined) return Result.map(SessionLine.toHeader(line), (found) => (header = found))
    // at once: the lines may never end
    if (events.length === header.events) return SessionLine.afterEnd(header, line)
    return Result.map(SessionLine.toEvent(line, events.length + 1, steps), (event) => events.push(event))
  }
  yield* Stream.runForEach(lines, (line) => Effect.fromResult(take(line)))
  const problem = header === undefined
    ? SessionLine.invalid("There are no lines")
    : SessionLine.checkCount(header, events.length)
  if (problem !== undefined) return yield* problem
  const wrong = SnapshotCheck.firstWrong(events)
  if (wrong !== undefined) return yield* SessionLine.untrue(wrong)
  const { sessionId } = header!
  const id = to ?? sessionId
  const field = to === undefined ? "the session's id" : "to"
  const bad = InputCheck.badId(field, id)
  if (bad !== undefined) return yield* invalidTo(`${bad.message}; nothing was imported. Import under another id.`)
  if (id !== sessionId) yield* checkCopy(sessionId, events)
  return { sessionId: id, events: events as unknown as Decoded["events"] }
})

/** The second half of `fromLines`. */
export const add = Effect.fnUntraced(function*(
  { events, sessionId }: Decoded
): Effect.fn.Return<SessionStore.SessionInfo, SessionStore.StoreError, SessionStore.SessionStore> {
  const store = yield* SessionStore.SessionStore
  // before it is opened, which takes over a session that a dead process left behind
  if ((yield* store.info(sessionId)) !== undefined) return yield* inUse(sessionId)
  yield* Effect.scoped(Effect.gen(function*() {
    const session = yield* store.open(sessionId, { runId: events[events.length - 1]!.runId, create: true })
    if (session.head() > 0) return yield* inUse(sessionId)
    yield* session.append(events)
  }))
  return (yield* store.info(sessionId)) ?? (yield* RunError.sessionNotFound(sessionId))
})

/** Like a fork, a copy shares no call with its original: idempotency keys contain the session's id. */
const checkCopy = (sessionId: string, events: ReadonlyArray<RunEvent.Durable>) => {
  const state = events.reduce(RunState.evolve, RunState.empty)
  return Fork.underWay(state).length > 0
    ? Effect.fail(invalidTo(
      `The log ends in the middle of tool calls that session "${sessionId}" may still carry out; nothing was imported. Import it ` +
        "under its own id, or export it again when its turn has ended."
    ))
    : Effect.void
}

const inUse = (sessionId: string) =>
  invalidTo(`Session "${sessionId}" already exists; nothing was changed. Import under another id.`)

const invalidTo = (message: string) => RunError.invalidInput("to", message)
