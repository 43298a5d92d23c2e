/**
 * One run of the command's agent, from its settings to its end: shown as it goes, aborted by a signal, its end the exit
 * code. Does not own what it looks like (`Screen.ts`).
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type * as Agent from "../Agent.ts"
import type * as RunError from "../run/RunError.ts"
import * as RunEvent from "../run/RunEvent.ts"
import * as Approver from "../services/Approver.ts"
import * as Ids from "../services/Ids.ts"
import * as CliAgent from "./CliAgent.ts"
import * as Database from "./Database.ts"
import { Input } from "./Input.ts"
import * as Instructions from "./Instructions.ts"
import * as Messages from "./Messages.ts"
import * as ModelChoice from "./model/ModelChoice.ts"
import { Output, type OutputClosed } from "./Output.ts"
import { badInput, codes, Ended, Refusal } from "./Refusal.ts"
import * as Paint from "./render/Paint.ts"
import * as Screen from "./render/Screen.ts"
import type { Settings } from "./Settings.ts"
import { type Signal, Signals } from "./Signals.ts"
import * as TerminalApprover from "./TerminalApprover.ts"
import * as Calculate from "./tools/Calculate.ts"
import * as FileTools from "./tools/files/FileTools.ts"
import * as Root from "./tools/files/Root.ts"
import * as ShownFiles from "./tools/write/ShownFiles.ts"
import * as WriteTools from "./tools/write/WriteTools.ts"

/** Ends with success when the run completed; else with the exit code, once everything was said. */
export const run = Effect.fnUntraced(function*(settings: Settings): Effect.fn.Return<
  void,
  Ended | Refusal,
  Input | Output | Signals | Scope.Scope
> {
  if (settings.task === undefined && settings.session === undefined) {
    return yield* new Refusal({ line: "the task is missing: fiberloop run \"<task>\"", code: codes.usage })
  }
  const worker = yield* open(settings)
  const sessionId = settings.session ?? (yield* (yield* Ids.Ids).next)
  const screen = yield* screenOf(settings, { sessionId })
  const { code } = yield* drive(worker, settings, sessionId, screen)
  if (code !== codes.completed) return yield* new Ended({ code })
}, Effect.scoped)

/** An agent that is ready, what there is to say about it, and who answers for its calls. */
export interface Worker {
  readonly client: Agent.Client<string>
  /** lines that are said once a run has begun */
  readonly notices: ReadonlyArray<string>
  readonly approver: (screen: Screen.Screen) => Approver.Approver
}

/** Makes the agent, unless a signal comes first. */
export const open = (
  settings: Settings
): Effect.Effect<Worker, Refusal, Input | Output | Signals | Scope.Scope> =>
  Signals.use(({ first }) => Effect.raceFirst(agent(settings), Effect.flatMap(first, beforeRun)))

const beforeRun = (signal: Signal) =>
  Effect.fail(new Refusal({ line: "aborted before the run began", code: codes[signal] as never }))

/** The agent with all that it stands on. What can be checked without leaving a trace is checked first. */
const agent = Effect.fnUntraced(function*(settings: Settings) {
  const refusing = Effect.mapError((error: { readonly message: string }) => badInput(error.message))
  const root = yield* refusing(Root.make(settings.root))
  const shown = ShownFiles.make()
  const handlers = [FileTools.layer(settings.root), Calculate.layer, WriteTools.layer(settings.root, shown)] as const
  const tools = yield* refusing(Layer.build(Layer.mergeAll(...handlers)))
  const model = yield* ModelChoice.build(settings)
  yield* Database.prepare(settings)
  const store = yield* Layer.build(Database.layer(settings))
  const isOffline = ModelChoice.isOffline(settings.model)
  const added = isOffline ? {} : yield* Instructions.read(root)
  const layer = isOffline
    ? CliAgent.reading(Instructions.reading)
    : CliAgent.writing(Instructions.extend(Instructions.writing, added))
  const below = Layer.succeedContext(Context.merge(Context.merge(tools, model), store))
  const running = Layer.provide(isOffline ? CliAgent.forgetting : CliAgent.summing, below)
  const built = yield* Layer.build(layer.pipe(Layer.provide([below, running])))
  return {
    client: Context.get(built, CliAgent.CliAgent),
    notices: [
      ...ModelChoice.notices(settings),
      ...(added.notice === undefined ? [] : [Messages.line(added.notice)]),
      ...(isOffline || !settings.allowsAll ? [] : [Messages.line(allowed)])
    ],
    approver: yield* approverOf(settings, root, shown)
  }
})

const allowed = "--yes allows every change of a file and every command without asking"

const approverOf = Effect.fnUntraced(function*(settings: Settings, root: Root.Root, shown: ShownFiles.ShownFiles) {
  const { answer, isTerminal } = yield* Input
  const { stderr } = yield* Output
  const rules = new Set<string>()
  const paint = paintOf(settings, stderr)
  return (screen: Screen.Screen): Approver.Approver => {
    if (settings.allowsAll) return TerminalApprover.all
    if (!isTerminal || !stderr.isTerminal) {
      return settings.isSuspended && settings.task === undefined ? TerminalApprover.later : TerminalApprover.nobody
    }
    return TerminalApprover.make({ root, screen, paint, write: stderr.write, answer, shown, rules })
  }
})

const paintOf = ({ isPlain }: Settings, { isTerminal }: { readonly isTerminal: boolean }): Paint.Paint =>
  isTerminal && !isPlain ? Paint.coloured : Paint.plain

/** What shows a run of this session; `isChat`: how to go on is nothing that has to be said. */
export const screenOf = Effect.fnUntraced(function*(
  settings: Settings,
  { isChat = false, sessionId }: { readonly sessionId: string; readonly isChat?: boolean }
) {
  const { stderr, stdout } = yield* Output
  const isAnimated = stderr.isTerminal && !settings.isPlain
  const paint = paintOf(settings, stderr)
  const look = { isTerminal: stdout.isTerminal, paint, sessionId, flags: settings.flags, isChat }
  return yield* settings.json ? Screen.json(look) : Screen.text({ ...look, isAnimated })
})

const eventsOf = (
  client: Agent.Client<string>,
  { maxTurns, session, task }: Pick<Settings, "task" | "session" | "maxTurns">,
  sessionId: string
) => {
  const limits = maxTurns === undefined ? {} : { limits: { maxTurns } }
  return task === undefined
    ? client.resume({ sessionId, ...limits })
    : client.stream({ input: task, sessionId, createSession: session === undefined, ...limits })
}

/** Shows the run to its end. The first signal aborts it, and its end is shown like any other. */
export const drive = Effect.fnUntraced(function*(
  { approver, client, notices }: Worker,
  settings: Pick<Settings, "task" | "session" | "maxTurns" | "flags">,
  sessionId: string,
  screen: Screen.Screen
): Effect.fn.Return<Driven, never, Signals | Scope.Scope> {
  const { first } = yield* Signals
  const began = Deferred.makeUnsafe<string>()
  let end: RunEvent.End | undefined
  let signal: Signal | undefined

  const shown = yield* eventsOf(client, settings, sessionId).pipe(
    Stream.runForEachArray((events) => {
      const begin = events.find(isBegin)
      const isFirst = begin !== undefined && Deferred.doneUnsafe(began, Effect.succeed(begin.runId))
      end = events.findLast(RunEvent.isEnd) ?? end
      const notice = isFirst ? Effect.forEach(notices, screen.say, { discard: true }) : Effect.void
      return Effect.andThen(notice, screen.show(events))
    }),
    Effect.provideService(Approver.Approver, approver(screen)),
    Effect.forkChild
  )
  const abort = Effect.gen(function*() {
    signal = yield* first
    if (!Deferred.isDoneUnsafe(began)) return yield* Fiber.interrupt(shown)
    // A reader that has stopped reading must hold up neither the abort nor, for long, the end.
    yield* Effect.forkChild(screen.say("Aborting the run; once more leaves at once."), { startImmediately: true })
    const live = yield* client.live(yield* Deferred.await(began), sessionId)
    yield* live?.abort ?? Effect.void
    yield* Effect.sleep("1 second")
    yield* Fiber.interrupt(shown)
  })
  const aborting = yield* Effect.forkChild(abort)
  const exit = yield* Fiber.await(shown)
  yield* Fiber.interrupt(aborting)
  const course = { end, signal, hasBegun: Deferred.isDoneUnsafe(began) }
  return { ...course, code: yield* codeOf(exit, course, { screen, flags: settings.flags }) }
})

/** What comes before it settles the calls that an older run left waiting. */
const isBegin = (event: RunEvent.RunEvent): boolean => event._tag === "RunStarted" || event._tag === "RunResumed"

/** What became known of a run while it was shown. */
interface Course {
  readonly hasBegun: boolean
  readonly end: RunEvent.End | undefined
  readonly signal: Signal | undefined
}

/** How it came out. */
export interface Driven extends Course {
  readonly code: number
}

/** The exit code; says what the run could not say itself. */
const codeOf = Effect.fnUntraced(function*(
  exit: Exit.Exit<void, RunError.RunError | OutputClosed>,
  { end, hasBegun, signal }: Course,
  { flags, screen }: { readonly screen: Screen.Screen; readonly flags: ReadonlyArray<string> }
): Effect.fn.Return<number> {
  if (Exit.isFailure(exit)) {
    if (Cause.hasInterruptsOnly(exit.cause)) {
      if (!hasBegun) yield* screen.say(Messages.line("aborted before the run began"))
      return codes[signal ?? "SIGINT"]
    }
    const error = Cause.squash(exit.cause) as RunError.RunError | OutputClosed | Error
    if ("_tag" in error && error._tag === "OutputClosed") {
      if (error.isReaderGone) return codes.readerLeft
      yield* screen.say(Messages.line(`standard output cannot be written (${error.code}); the run was aborted`))
      return codes.failed
    }
    if (!("_tag" in error)) yield* screen.say(Messages.line(Messages.ofDefect(error)))
    else if (end?._tag !== "RunFailed") yield* screen.say(Messages.line(Messages.ofRun(error, flags)))
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
