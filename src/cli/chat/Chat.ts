/**
 * `fiberloop chat`: a conversation in one session, turn by turn, until the person leaves or the input ends.
 *
 *     prompt -- message --> turn --> prompt          Ctrl-C in a turn aborts it; Ctrl-C at the prompt right after that,
 *       |                                            or twice in a row there, leaves; so does Ctrl-D
 *       +-- Ctrl-C, Ctrl-C | Ctrl-D | /quit | signal --> left
 *
 * Does not own how a message is edited (`MessageEditor.ts`) nor how a run is shown (`Run.ts`).
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Ids from "../../services/Ids.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import * as Worker from "../agent/Worker.ts"
import * as ErrorWords from "../ErrorWords.ts"
import * as GoingOn from "../GoingOn.ts"
import * as Help from "../Help.ts"
import { codes, Ended, type Refusal } from "../Refusal.ts"
import * as EndLine from "../render/EndLine.ts"
import * as Invocation from "../render/Invocation.ts"
import * as Paint from "../render/Paint.ts"
import * as RenderExchange from "../render/RenderExchange.ts"
import * as RenderSessions from "../render/RenderSessions.ts"
import * as Run from "../Run.ts"
import * as LastExchange from "../session/LastExchange.ts"
import type { Settings } from "../Settings.ts"
import { Input } from "../terminal/Input.ts"
import { Output } from "../terminal/Output.ts"
import { type Signal, Signals, until, untilSignal } from "../terminal/Signals.ts"
import * as Compact from "./Compact.ts"
import * as Slash from "./Slash.ts"

/** Succeeds when the person left, or when the last message of a piped input was answered. */
export const run = Effect.fnUntraced(function*(
  typed: Settings
): Effect.fn.Return<void, Ended | Refusal, Input | Output | Signals | Scope.Scope> {
  const kept = typed.session === undefined
    ? undefined
    : yield* untilSignal(GoingOn.find(typed, typed.session))
  const settings = kept?.settings ?? typed
  const { session } = settings
  const worker = yield* Worker.open(settings)
  const sessionId = session ?? (yield* (yield* Ids.Ids).next)
  const { stderr } = yield* Output
  if (kept !== undefined && (yield* Input).isTerminal && !settings.json) yield* introduce(kept, worker)
  for (const notice of worker.notices) yield* stderr.write(`${notice}\n`)
  const { code, hasBegun } = yield* talk(worker, settings, { sessionId, isNew: session === undefined })
  if (hasBegun || session !== undefined) {
    const isKept = yield* isThere(worker.store, sessionId)
    yield* stderr.write(`${isKept ? EndLine.comeBack(sessionId, settings.flags) : EndLine.deleted(sessionId)}\n`)
  }
  if (code !== codes.completed) return yield* new Ended({ code })
}, Effect.scoped)

/** Whether the session has not been deleted; a store that does not answer soon is taken to have it. */
const isThere = (store: SessionStore.Store, sessionId: string): Effect.Effect<boolean> =>
  store.info(sessionId).pipe(
    Effect.map((info) => info !== undefined),
    Effect.timeout("1 second"),
    Effect.orElseSucceed(() => true)
  )

/** Which conversation it is that the person comes back to, how it stands, and what was said last. */
const introduce = Effect.fnUntraced(function*({ info, settings }: GoingOn.GoingOn, { store }: Worker.Worker) {
  const { stderr } = yield* Output
  const [paint, columns] = [Paint.of(stderr, settings.isPlain), stderr.columns()]
  const said = yield* untilSignal(LastExchange.of({ info, store }))
  const show = Invocation.of("show", [info.sessionId], Invocation.placeOf(settings.flags))
  const now = yield* Clock.currentTimeMillis
  yield* stderr.write(RenderSessions.lines([info], { paint, columns, now }))
  if (said !== undefined) yield* stderr.write(RenderExchange.lines(said, { paint, columns, show }))
})

interface Talked {
  readonly code: number
  readonly hasBegun: boolean
}

const talk = Effect.fnUntraced(function*(
  worker: Worker.Worker,
  settings: Settings,
  { isNew, sessionId }: { readonly sessionId: string; readonly isNew: boolean }
): Effect.fn.Return<Talked, never, Input | Output | Signals> {
  const [{ dropAhead, isTerminal, message }, { stderr }, { forget }] = [yield* Input, yield* Output, yield* Signals]
  let hasBegun = false
  let code: number = codes.completed
  /** whether the next Ctrl-C at the prompt leaves */
  let isLeaving = false

  if (isTerminal) yield* stderr.write(`${greeting}\n`)
  for (;;) {
    const typed = yield* until(message, (signal) => Effect.succeed({ _tag: "Signal", signal } as const))
    if (typed._tag === "Signal") return { code: codes[typed.signal], hasBegun }
    if (typed._tag === "Ended") {
      if (isTerminal) yield* stderr.write("\n")
      return { code: typed.isGone ? codes.SIGHUP : code, hasBegun }
    }
    if (typed._tag === "Unreadable") {
      yield* stderr.write(`${ErrorWords.line(typed.line)}\n`)
      return { code: codes.failed, hasBegun }
    }
    if (typed._tag === "Interrupted") {
      if (isLeaving && typed.wasEmpty) return { code, hasBegun }
      isLeaving = true
      yield* stderr.write(`${onceMore}\n`)
      continue
    }
    isLeaving = false
    if (typed.text.trim() === "") continue
    const asked = Slash.read(typed.text)
    if (asked?._tag === "Leave") return { code, hasBegun }
    if (asked?._tag === "Help") {
      yield* stderr.write(Help.keys)
      continue
    }
    if (asked?._tag === "Unknown") {
      yield* stderr.write(`${ErrorWords.line(Slash.unknown(asked.word))}\n`)
      code = isTerminal ? codes.completed : codes.failed
      continue
    }
    if (asked?._tag === "Compact") {
      const compacted = yield* Compact.run(worker.client, isNew && !hasBegun ? undefined : sessionId, settings)
      if (mustLeave(compacted, isTerminal)) return { code: compacted.code, hasBegun }
      code = isTerminal ? codes.completed : compacted.code
      continue
    }
    const isKept = hasBegun || !isNew
    // a session that was deleted meanwhile is not made again: the model would have nothing of what was said in it
    const said = { ...settings, task: typed.text, session: isKept ? sessionId : undefined }
    const shown = { sessionId, isChat: true, isKept }
    const turn: Run.Driven = yield* Run.show({ ...worker, notices: [] }, said, shown)
    hasBegun ||= turn.hasBegun
    if (mustLeave(turn, isTerminal)) {
      return { code: turn.signal === undefined ? turn.code : codes[turn.signal], hasBegun }
    }
    code = isTerminal ? codes.completed : turn.code
    isLeaving = turn.signal !== undefined
    if (isLeaving) yield* Effect.all([forget, dropAhead, stderr.write(`${onceMore}\n`)])
  }
})

const greeting = "A line ending in \\ continues on the next. Ctrl-C aborts an answer, Ctrl-D leaves, /help says more."
const onceMore = "Press Ctrl-C again to leave."

/** Any signal leaves, except Ctrl-C at a terminal, which ends only the turn; so does a reader that is gone. */
const mustLeave = (
  { code, signal }: { readonly code: number; readonly signal: Signal | undefined },
  isTerminal: boolean
): boolean => signal === undefined ? code === codes.readerLeft : signal !== "SIGINT" || !isTerminal
