/**
 * Drives one run of the command's agent to its end: shows it as it goes, aborts it at a signal, and turns its end into the exit
 * code. Does not own what it looks like (`Screen.ts`), nor what the agent is made of (`Worker.ts`).
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type * as RunError from "../run/RunError.ts"
import * as RunEvent from "../run/RunEvent.ts"
import * as Approver from "../services/Approver.ts"
import * as Ids from "../services/Ids.ts"
import type * as SessionStore from "../services/SessionStore.ts"
import * as Worker from "./agent/Worker.ts"
import * as ErrorWords from "./ErrorWords.ts"
import * as FileReason from "./FileReason.ts"
import * as ProxyHint from "./model/ProxyHint.ts"
import { codes, Ended, Refusal } from "./Refusal.ts"
import * as EndLine from "./render/EndLine.ts"
import * as Invocation from "./render/Invocation.ts"
import * as Paint from "./render/Paint.ts"
import * as RenderApprovals from "./render/RenderApprovals.ts"
import * as Screen from "./render/Screen.ts"
import * as SessionRoot from "./session/SessionRoot.ts"
import type { Settings } from "./Settings.ts"
import type { Input } from "./terminal/Input.ts"
import { Output, type OutputClosed } from "./terminal/Output.ts"
import { type Signal, Signals } from "./terminal/Signals.ts"

/** Succeeds when the run completed; else fails with the exit code, once everything was said. */
export const run = Effect.fnUntraced(function*(settings: Settings): Effect.fn.Return<
  void,
  Ended | Refusal,
  Input | Output | Signals | Scope.Scope
> {
  if (settings.task === undefined && settings.session === undefined) {
    return yield* new Refusal({
      line: "the task is missing: fiberloop run \"<task>\", or - to take it from standard input",
      code: codes.usage
    })
  }
  const worker = yield* Worker.open(settings.task === undefined ? yield* SessionRoot.toResume(settings) : settings)
  const sessionId = settings.session ?? (yield* (yield* Ids.Ids).next)
  const { code } = yield* show(worker, settings, { sessionId })
  if (code !== codes.completed) return yield* new Ended({ code })
}, Effect.scoped)

/** Which run it is; `isChat` leaves out how to go on, `isKept` says that there is a session before it begins. */
interface Shown {
  readonly sessionId: string
  readonly isChat?: boolean
  readonly isKept?: boolean
}

/** Drives a run for the task, or the session's last run, on a screen of its own. */
export const show = (
  worker: Worker.Worker,
  settings: Settings,
  shown: Shown
): Effect.Effect<Driven, never, Output | Signals> =>
  Effect.scoped(Effect.gen(function*() {
    // a new task leaves out what is open
    const open = settings.task === undefined ? yield* worker.openCalls(shown.sessionId) : Worker.nothingOpen
    const screen = yield* screenOf(settings, shown, open)
    const notices = [...worker.notices, ...open.allowed.flatMap(RenderApprovals.allowed)]
    return yield* drive({ ...worker, notices, approver: worker.approver(screen, open) }, settings, shown, screen)
  }))

const screenOf = Effect.fnUntraced(function*(
  settings: Settings,
  { isChat = false, sessionId }: Shown,
  { asked, params: calls }: Worker.OpenCalls
) {
  const { stderr, stdout } = yield* Output
  const isAnimated = stderr.isTerminal && !settings.isPlain
  const paint = Paint.of(stderr, settings.isPlain)
  const known = asked === undefined ? { calls } : { calls, asked }
  const look = { isTerminal: stdout.isTerminal, paint, sessionId, flags: settings.flags, isChat, ...known }
  const screen = yield* settings.json ? Screen.json(look) : Screen.text({ ...look, isAnimated })
  // where it is unknown which questions have an event to come, none waits for its own
  return asked === undefined ? { ...screen, asked: () => Effect.void } : screen
})

const eventsOf = (
  { client, data }: Pick<Worker.Worker, "client" | "data">,
  { maxTurns, session, task }: Pick<Settings, "task" | "session" | "maxTurns">,
  sessionId: string
) => {
  const limits = maxTurns === undefined ? {} : { limits: { maxTurns } }
  return task === undefined
    ? client.resume({ sessionId, ...limits })
    : client.stream({ input: task, sessionId, createSession: session === undefined, data, ...limits })
}

interface Work extends Pick<Worker.Worker, "client" | "data" | "notices" | "store"> {
  readonly approver: Approver.Approver
}

/** Shows the run to its end. The first signal aborts it; its end is then shown like any other. */
export const drive = Effect.fnUntraced(function*(
  { approver, client, data, notices, store }: Work,
  settings: Pick<Settings, "task" | "session" | "maxTurns" | "flags">,
  { isChat = false, isKept = settings.session !== undefined, sessionId }: Shown,
  screen: Screen.Screen
): Effect.fn.Return<Driven, never, Signals | Scope.Scope> {
  const { first, leaving } = yield* Signals
  const startedAt = yield* Clock.currentTimeMillis
  const began = Deferred.makeUnsafe<string>()
  let end: RunEvent.End | undefined
  let signal: Signal | undefined
  yield* leaving(() => {
    const isLeft = end === undefined && (isKept || Deferred.isDoneUnsafe(began))
    return screen.lineEnd() + (isLeft ? `${EndLine.left(sessionId, settings.flags, isChat)}\n` : "")
  })

  const shown = yield* eventsOf({ client, data }, settings, sessionId).pipe(
    Stream.runForEachArray((events) => {
      const begin = events.find(isBegin)
      const isFirst = begin !== undefined && Deferred.doneUnsafe(began, Effect.succeed(begin.runId))
      end = events.findLast(RunEvent.isEnd) ?? end
      const notice = isFirst ? Effect.forEach(notices, screen.say, { discard: true }) : Effect.void
      return Effect.andThen(notice, screen.show(events))
    }),
    Effect.provideService(Approver.Approver, approver),
    Effect.forkChild
  )
  const abort = Effect.gen(function*() {
    signal = yield* first
    if (!Deferred.isDoneUnsafe(began)) return yield* Fiber.interrupt(shown)
    // A reader that has stopped reading must hold up neither the abort nor, for long, the end.
    yield* Effect.forkChild(screen.say("Aborting the run; press Ctrl-C again to leave at once."), {
      startImmediately: true
    })
    const live = yield* client.live(yield* Deferred.await(began), sessionId)
    yield* live?.abort ?? Effect.void
    yield* Effect.sleep("1 second")
    yield* Fiber.interrupt(shown)
  })
  const aborting = yield* Effect.forkChild(abort)
  const exit = yield* Fiber.await(shown)
  yield* Fiber.interrupt(aborting)
  if (signal !== undefined && !Deferred.isDoneUnsafe(began)) {
    const aborted = yield* abortedSince(store, sessionId, startedAt)
    if (aborted !== undefined) {
      Deferred.doneUnsafe(began, Effect.succeed(aborted.runId))
      end = aborted
      yield* Effect.ignore(Effect.timeout(screen.show([aborted]), "1 second"))
    }
  }
  const course = { end, signal, hasBegun: Deferred.isDoneUnsafe(began) }
  return { ...course, code: yield* codeOf(exit, course, { screen, sessionId, isChat, flags: settings.flags }) }
})

/** The end of a run that was stored, and aborted before anything of it was shown; none from a store that does not answer soon. */
const abortedSince = (store: SessionStore.Store, sessionId: string, since: number) =>
  Effect.gen(function*() {
    const info = yield* store.info(sessionId)
    if (info?.end !== "RunAborted" || info.updatedAt < since) return undefined
    const [last] = yield* Stream.runCollect(store.read(sessionId, { from: info.head }))
    return last?._tag === "RunAborted" ? last : undefined
  }).pipe(
    Effect.timeout("1 second"),
    Effect.orElseSucceed(() => undefined)
  )

/** Events before this one settle the calls that an older run left waiting. */
const isBegin = (event: RunEvent.RunEvent): boolean => event._tag === "RunStarted" || event._tag === "RunResumed"

/** What was learnt of a run while it was shown. */
interface Course {
  readonly hasBegun: boolean
  readonly end: RunEvent.End | undefined
  readonly signal: Signal | undefined
}

/** How the run came out. */
export interface Driven extends Course {
  readonly code: number
}

/** The exit code; reports what the run could not report itself. */
const codeOf = Effect.fnUntraced(function*(
  exit: Exit.Exit<void, RunError.RunError | OutputClosed>,
  { end, hasBegun, signal }: Course,
  { flags, isChat, screen, sessionId }: Shown & Pick<Settings, "flags"> & { readonly screen: Screen.Screen }
): Effect.fn.Return<number> {
  if (Exit.isFailure(exit)) {
    if (Cause.hasInterruptsOnly(exit.cause)) {
      if (!hasBegun) yield* screen.say(ErrorWords.line("aborted before the run began"))
      return codes[signal ?? "SIGINT"]
    }
    const error = Cause.squash(exit.cause) as RunError.RunError | OutputClosed | Error
    if ("_tag" in error && error._tag === "OutputClosed") {
      if (error.isReaderGone) return codes.readerLeft
      const line = `standard output cannot be written (${FileReason.of(error.code)})`
      if (end?._tag === "RunCompleted") {
        const show = Invocation.of("show", [sessionId], Invocation.placeOf(flags))
        yield* screen.say(ErrorWords.line(`${line}; the run completed, and its answer is in: ${show}`))
        return codes.failed
      }
      yield* screen.say(ErrorWords.line(`${line}: send it elsewhere`))
      const how = end === undefined
        ? EndLine.left(sessionId, flags, isChat)
        : EndLine.goOn(end, sessionId, flags)
      if (how !== undefined) yield* screen.say(how)
      return codes.failed
    }
    if (!("_tag" in error)) yield* screen.say(ErrorWords.line(ErrorWords.ofDefect(error)))
    else if (end?._tag !== "RunFailed") {
      const words = isChat ? ErrorWords.inChat(error, sessionId, flags) : ErrorWords.ofRun(error, flags)
      yield* screen.say(ErrorWords.line(words))
    } else {
      const hint = yield* ProxyHint.of(end.error)
      if (hint !== undefined) yield* screen.say(ErrorWords.line(hint))
    }
    return codes.failed
  }
  switch (end?._tag) {
    case "RunCompleted":
      return codes.completed
    case "RunAborted":
      return codes[signal ?? "SIGINT"]
    default:
      return codes.failed
  }
})
