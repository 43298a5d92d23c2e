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
import * as Fiberloop from "../Fiberloop.ts"
import type * as RunError from "../run/RunError.ts"
import * as RunEvent from "../run/RunEvent.ts"
import * as Ids from "../services/Ids.ts"
import { CliAgent } from "./CliAgent.ts"
import * as Database from "./Database.ts"
import * as FileTools from "./files/FileTools.ts"
import * as Messages from "./Messages.ts"
import * as ModelChoice from "./ModelChoice.ts"
import { Output, type OutputClosed } from "./Output.ts"
import * as Paint from "./Paint.ts"
import { badInput, codes, Ended, Refusal } from "./Refusal.ts"
import * as Screen from "./Screen.ts"
import type { Settings } from "./Settings.ts"
import { type Signal, Signals } from "./Signals.ts"
import * as Calculate from "./tools/Calculate.ts"

/** Ends with success when the run completed; else with the exit code, once everything was said. */
export const run = Effect.fnUntraced(function*(settings: Settings): Effect.fn.Return<
  void,
  Ended | Refusal,
  Output | Signals | Scope.Scope
> {
  if (settings.task === undefined && settings.session === undefined) {
    return yield* new Refusal({ line: "the task is missing: fiberloop run \"<task>\"", code: codes.usage })
  }
  const { first } = yield* Signals
  const client = yield* Effect.raceFirst(agent(settings), Effect.flatMap(first, beforeRun))
  const sessionId = settings.session ?? (yield* (yield* Ids.Ids).next)
  const screen = yield* screenOf(settings, sessionId)
  const code = yield* drive(client, settings, sessionId, screen)
  if (code !== codes.completed) return yield* new Ended({ code })
}, Effect.scoped)

const beforeRun = (signal: Signal) =>
  Effect.fail(new Refusal({ line: "aborted before the run began", code: codes[signal] as never }))

/** The agent with all that it stands on. What can be checked without leaving a trace is checked first. */
const agent = Effect.fnUntraced(function*(settings: Settings) {
  const tools = yield* Layer.build(Layer.mergeAll(FileTools.layer(settings.root), Calculate.layer)).pipe(
    Effect.mapError((error) => badInput(error.message))
  )
  const model = yield* ModelChoice.build(settings.model)
  yield* Database.prepare(settings)
  const store = yield* Layer.build(Database.layer(settings)).pipe(
    Effect.mapError((error) => badInput(Messages.ofRun(error)))
  )
  const below = Layer.succeedContext(Context.merge(Context.merge(tools, model), store))
  return Context.get(yield* Layer.build(CliAgent.layer.pipe(Layer.provide([below, Fiberloop.layer]))), CliAgent)
})

const screenOf = Effect.fnUntraced(function*(settings: Settings, sessionId: string) {
  const { stderr, stdout } = yield* Output
  const isControlled = stderr.isTerminal && !settings.isPlain
  const paint = isControlled ? Paint.coloured : Paint.plain
  const look = { isTerminal: stdout.isTerminal, paint, sessionId, flags: settings.flags }
  return yield* settings.json ? Screen.json(look) : Screen.text({ ...look, isAnimated: isControlled })
})

const eventsOf = (client: Agent.Client<string>, { maxTurns, session, task }: Settings, sessionId: string) => {
  const limits = maxTurns === undefined ? {} : { limits: { maxTurns } }
  return task === undefined
    ? client.resume({ sessionId, ...limits })
    : client.stream({ input: task, sessionId, createSession: session === undefined, ...limits })
}

/** Shows the run to its end. The first signal aborts it, and its end is shown like any other. */
const drive = Effect.fnUntraced(function*(
  client: Agent.Client<string>,
  settings: Settings,
  sessionId: string,
  screen: Screen.Screen
): Effect.fn.Return<number, never, Signals | Scope.Scope> {
  const { first } = yield* Signals
  const began = Deferred.makeUnsafe<string>()
  let end: RunEvent.End | undefined
  let signal: Signal | undefined

  const shown = yield* eventsOf(client, settings, sessionId).pipe(
    Stream.runForEachArray((events) => {
      const isFirst = Deferred.doneUnsafe(began, Effect.succeed(events[0].runId))
      end = events.findLast(RunEvent.isEnd) ?? end
      const notice = isFirst && settings.model === undefined ? screen.say(ModelChoice.notice) : Effect.void
      return Effect.andThen(notice, screen.show(events))
    }),
    Effect.forkChild
  )
  const abort = Effect.gen(function*() {
    signal = yield* first
    if (!Deferred.isDoneUnsafe(began)) return yield* Fiber.interrupt(shown)
    // A reader that has stopped reading must hold up neither the abort nor, for long, the end.
    yield* Effect.forkChild(screen.say("Aborting the run; once more leaves at once."), { startImmediately: true })
    const live = yield* client.live(yield* Deferred.await(began))
    yield* live?.abort ?? Effect.void
    yield* Effect.sleep("1 second")
    yield* Fiber.interrupt(shown)
  })
  const aborting = yield* Effect.forkChild(abort)
  const exit = yield* Fiber.await(shown)
  yield* Fiber.interrupt(aborting)
  return yield* codeOf(exit, { end, signal, hasBegun: Deferred.isDoneUnsafe(began) }, screen)
})

/** What became known of a run while it was shown. */
interface Course {
  readonly hasBegun: boolean
  readonly end: RunEvent.End | undefined
  readonly signal: Signal | undefined
}

/** The exit code; says what the run could not say itself. */
const codeOf = Effect.fnUntraced(function*(
  exit: Exit.Exit<void, RunError.RunError | OutputClosed>,
  { end, hasBegun, signal }: Course,
  screen: Screen.Screen
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
    else if (end?._tag !== "RunFailed") yield* screen.say(Messages.line(Messages.ofRun(error)))
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
