/**
 * Owns the tool `run_command`. Does not own processes (`ProcessGroup.ts`), nor where their output goes (`OutputPipe.ts`).
 */
import * as Tool from "effect/ai/Tool"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { lstat } from "node:fs/promises"
import * as LeaveBehind from "../../../services/LeaveBehind.ts"
import * as Arguments from "../Arguments.ts"
import * as Changing from "../Changing.ts"
import * as Excerpt from "../Excerpt.ts"
import { BetweenCheckAndOpen } from "../files/OpenFile.ts"
import * as Root from "../files/Root.ts"
import * as ChangeError from "../write/ChangeError.ts"
import * as OpenFolder from "../write/OpenFolder.ts"
import * as CommandError from "./CommandError.ts"
import * as Environment from "./Environment.ts"
import * as HeadTail from "./HeadTail.ts"
import * as OutputPipe from "./OutputPipe.ts"
import * as ProcessGroup from "./ProcessGroup.ts"

/**
 * The most characters of JSON that the output has in an answer. Default 29,000, so that the whole answer stays below the
 * 30,000 at which an executor cuts it.
 */
export const MaxOutput = Context.Reference<number>("fiberloop/cli/command/MaxOutput", { defaultValue: () => 29_000 })

/** In seconds: less than the limit of a tool call, so that the command ends, and its output is reported, before the call does. */
export const defaultTimeout = 100

/** The tool. */
export const tool = Tool.make("run_command", {
  description:
    "Runs a program in the root folder or one below it and waits until it ends; what it leaves running is ended " +
    "then. The list is the program and its arguments, exactly: no shell reads it. Standard input is empty.",
  parameters: Arguments.only({
    command: Schema.NonEmptyArray(Schema.String).annotate({
      description: "Such as [\"git\", \"status\"], or [\"sh\", \"-c\", \"...\"] where a shell is needed"
    }),
    cwd: Schema.optionalKey(
      Schema.String.annotate({ description: "Folder to run in, relative to the root; default the root" })
    ),
    timeoutSeconds: Schema.optionalKey(
      Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 3_600 })).annotate({
        description: `Ends the command after this time; default ${defaultTimeout}`
      })
    )
  }),
  success: Schema.Struct({
    exitCode: Schema.NullOr(Schema.Int).annotate({ description: "null: ended by a signal" }),
    signal: Schema.optionalKey(Schema.String),
    timedOut: Schema.optionalKey(Schema.Boolean),
    durationMillis: Schema.Int,
    note: Schema.optionalKey(Schema.String),
    outputSize: Schema.optionalKey(Schema.Int).annotate({ description: "Characters of all output, where it is cut" }),
    output: Schema.String.annotate({ description: "Both outputs in the order they were written" })
  }),
  failure: Schema.Union([ChangeError.Failure, CommandError.CommandError]),
  failureMode: "return"
}).annotateMerge(Changing.annotations).annotate(Tool.OpenWorld, true)

/**
 * Answers a call. When this is over, also by interruption, no process of the command is left except one that could not be
 * found; that one is left behind by name if it holds the output.
 */
export const handler = (root: Root.Root) =>
  Effect.fn("CommandTools.run_command")(function*(
    { command, cwd = ".", timeoutSeconds = defaultTimeout }: Tool.Parameters<typeof tool>
  ): Effect.fn.Return<Tool.Success<typeof tool>, Tool.Failure<typeof tool>> {
    yield* requireValid(command)
    const startedAt = yield* Clock.currentTimeMillis
    const run = yield* Effect.scoped(runIn(root, { command, cwd, timeout: Duration.seconds(timeoutSeconds) }))
    const { isCut, text } = Excerpt.make(run.output, yield* MaxOutput)
    const notes = [
      ...(run.timedOut ? [`Ended after ${timeoutSeconds} s, the time it had.`] : []),
      ...(run.leftRunning ? ["Processes that it left running were ended."] : []),
      ...(run.isHeld ? ["A process that left its process group holds the output open and could not be ended."] : []),
      ...(run.output.isText ? [] : ["Some of the output is no UTF-8 text and is shown as \ufffd."]),
      ...(isCut ? ["The output is cut: narrow the command, or write to a file and read that."] : [])
    ]
    return {
      exitCode: run.ended.code,
      ...(run.ended.signal !== null && { signal: run.ended.signal }),
      ...(run.timedOut && { timedOut: true }),
      durationMillis: (yield* Clock.currentTimeMillis) - startedAt,
      ...(notes.length > 0 && { note: notes.join(" ") }),
      ...(isCut && { outputSize: run.output.size }),
      output: text
    }
  })

interface Request {
  readonly command: ProcessGroup.Options["command"]
  readonly cwd: string
  readonly timeout: Duration.Duration
}

const runIn = Effect.fnUntraced(function*(root: Root.Root, { command, cwd, timeout }: Request) {
  const folder = yield* openFolder(root, cwd)
  const kept = HeadTail.make(yield* MaxOutput)
  const pipe = yield* OutputPipe.make(kept.push)
  const env = Environment.make(process.env, folder.real)
  const isHeld = Effect.andThen(pipe.handOver, pipe.isHeld)
  // Runs after the end of all that was found: whoever still holds the output was not found.
  yield* Effect.addFinalizer(() => Effect.flatMap(isHeld, (yes) => yes ? nameProcess : Effect.void))
  const group = yield* ProcessGroup.start({ command, cwd: folder.at("."), env, output: pipe.writeEnd })
  yield* pipe.handOver
  const inTime = yield* Effect.timeoutOption(group.ended, timeout)
  const timedOut = Option.isNone(inTime)
  const leftRunning = !timedOut && !(yield* group.isGone)
  yield* group.terminate
  return { ended: yield* group.ended, timedOut, leftRunning, isHeld: yield* isHeld, output: kept.end() }
})

const nameProcess = Effect.flatMap(LeaveBehind.LeaveBehind, (leaveBehind) => leaveBehind(`process of ${tool.name}`))

/** The folder that a command runs in; its path may change before the command has started. */
const openFolder = Effect.fnUntraced(function*(root: Root.Root, cwd: string) {
  const { real } = yield* Effect.mapError(Root.locate(root, cwd), ChangeError.fromLooking(cwd))
  if (!(yield* ChangeError.attempt(cwd, () => lstat(real))).isDirectory()) return yield* ChangeError.isNoFolder(cwd)
  yield* (yield* BetweenCheckAndOpen)(cwd)
  return yield* OpenFolder.open(root, real, cwd)
})

const requireValid = Effect.fnUntraced(function*([program, ...args]: ProcessGroup.Options["command"]) {
  if (process.platform === "win32") {
    return yield* CommandError.invalid("Windows has no process groups, which end what a command has started")
  }
  if (program === "") return yield* CommandError.invalid("The first word, the program, is empty")
  const odd = [program, ...args].findIndex((word) => word.includes("\0") || !word.isWellFormed())
  if (odd !== -1) {
    return yield* CommandError.invalid(`Word ${odd + 1} of the command has a NUL character or half a surrogate pair`)
  }
})
