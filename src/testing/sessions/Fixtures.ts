/** Events, and uses of a session store, that the tests of stores share. */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Message from "../../run/Message.ts"
import type * as RunError from "../../run/RunError.ts"
import * as RunEvent from "../../run/RunEvent.ts"
import * as SessionStore from "../../services/SessionStore.ts"
import * as Drafts from "./Drafts.ts"

export type Durable = RunEvent.Durable
type Place = { readonly seq: number; readonly at?: number; readonly runId?: string }

export const base = ({ at, runId = "run-1", seq }: Place) => ({
  seq,
  at: at ?? seq * 10,
  runId,
  version: RunEvent.version
})

const placed = (place: Place, draft: RunEvent.Draft): Durable => ({ ...draft, ...base(place) })

export const started = (place: Place, text = "hello"): Durable =>
  placed(place, Drafts.started(text, { limits: { maxTurns: 20 } }))

/** The first event of a session that an agent began for a call of the session `parent`. */
export const begunFor = (parent: string, place: Place): Durable =>
  placed(place, { ...Drafts.started("look"), parent: { sessionId: parent, runId: "run-1", callId: "call-1" } })

export const notice = (place: Place, text = "notice"): Durable => placed(place, Drafts.notice(text))

export const answer = (place: Place, text = "answer"): Durable => placed(place, Drafts.assistant([Message.text(text)]))

/** Of all events before it. */
export const compacted = (place: Place): Durable => placed(place, Drafts.compacted(place.seq - 1, []))

const spent = { turns: 1, duration: 5 }

export const completed = (place: Place): Durable => placed(place, Drafts.completed(spent))

const ended = { totals: { ...Drafts.totals, ...spent } }

export const suspended = (place: Place): Durable => placed(place, { ...Drafts.suspended, ...ended })

export const aborted = (place: Place, reason: RunEvent.AbortedReason): Durable =>
  placed(place, { ...Drafts.aborted, ...ended, reason })

/** Notices with the sequence numbers `from` to `to`. */
export const notices = (from: number, to: number, text?: string): Arr.NonEmptyArray<Durable> =>
  Arr.map(Arr.range(from, to), (seq) => notice({ seq }, text))

export const open = (sessionId: string, options: Partial<SessionStore.OpenOptions> = {}) =>
  Effect.flatMap(
    SessionStore.SessionStore,
    (store) => store.open(sessionId, { runId: "run-1", create: true, ...options })
  )

/** Opens the session for this one write. */
export const write = (sessionId: string, events: Arr.NonEmptyReadonlyArray<Durable>) =>
  Effect.scoped(Effect.flatMap(open(sessionId), (session) => session.append(events)))

export const readAll = (
  sessionId: string,
  range?: { readonly from?: number | undefined; readonly to?: number | undefined }
): Effect.Effect<Array<Durable>, SessionStore.StoreError, SessionStore.SessionStore> =>
  Effect.flatMap(SessionStore.SessionStore, (store) => Stream.runCollect(store.read(sessionId, range)))

export const seqs = (events: ReadonlyArray<Durable>) => events.map((event) => event.seq)

/** Lets other fibers run until they wait. */
export const idle = Effect.repeat(Effect.yieldNow, { times: 50 })

/** The error of `effect`. If it does not fail, the test fails at the line of the call. */
export const refused = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<E, never, R> => {
  const accepted = new Error("The store did what it has to refuse; the test's name says what, and the stack where.")
  return Effect.matchEffect(effect, { onFailure: Effect.succeed, onSuccess: () => Effect.die(accepted) })
}

/** The reason of `effect`'s error. */
export const reasonOf = <A, R>(effect: Effect.Effect<A, RunError.RunError | SessionStore.StoreError, R>) =>
  Effect.map(refused(effect), (error): RunError.RunReason | RunError.RunRefusal => error.reason)

export const tagOf = <A, R>(effect: Effect.Effect<A, SessionStore.StoreError, R>) =>
  Effect.map(reasonOf(effect), (reason) => reason._tag)
