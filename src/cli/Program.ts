/** Runs a command line and returns its exit code. Does not own the process (`main.ts`). */
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Cause from "effect/Cause"
import * as CliConfig from "effect/cli/CliConfig"
import * as CliError from "effect/cli/CliError"
import * as CliOutput from "effect/cli/CliOutput"
import * as Command from "effect/cli/Command"
import * as Completions from "effect/cli/Completions"
import * as Flag from "effect/cli/Flag"
import * as GlobalFlag from "effect/cli/GlobalFlag"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as CommandLine from "./CommandLine.ts"
import * as ErrorWords from "./ErrorWords.ts"
import * as Flags from "./Flags.ts"
import * as Help from "./Help.ts"
import { codes, Ended, Refusal } from "./Refusal.ts"
import * as Print from "./render/Print.ts"
import * as ShellCompletion from "./ShellCompletion.ts"
import type { Input } from "./terminal/Input.ts"
import { Output } from "./terminal/Output.ts"
import type { Signals } from "./terminal/Signals.ts"

/** Prints all there is to say, and never fails. */
export const program = (
  args: ReadonlyArray<string>,
  version: string
): Effect.Effect<number, never, Input | Output | Signals> =>
  Effect.gen(function*() {
    const words = helpOnCommands(helpLast(args))
    const presenter = yield* presenterOf(words)
    return yield* Command.runWith(CommandLine.command, { version })(minusKept(words)).pipe(
      Effect.as(codes.completed as number),
      Effect.catchCause(codeOf),
      Effect.provide([
        NodeServices.layer,
        CliOutput.layerPresenter(presenter),
        CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version, yield* completions] })
      ])
    )
  })

/** Standard output for effect/cli, which expects no failure: the end of the command is a defect there, and found as its cause. */
const printer = Effect.map(
  Output,
  (output) => (text: string) => Effect.orDie(Effect.provideService(Print.print(text), Output, output))
)

/** The script for a shell, written like everything else: to its end, and to a reader that may have left. */
const completions = Effect.map(printer, (print) =>
  GlobalFlag.Action({
    flag: GlobalFlag.Completions.flag.pipe(
      Flag.withMetavar("<shell>"),
      Flag.withDescription("Print a completion script")
    ),
    run: Effect.fnUntraced(function*(shell, { command }) {
      if (Option.isNone(shell)) return
      yield* print(ShellCompletion.script(command, shell.value))
    })
  }))

/** `help show` is `show --help`, and `help help` is `help`. */
const helpLast = (args: ReadonlyArray<string>): ReadonlyArray<string> => {
  if (args[0] !== "help") return args
  const rest = args.slice(1).filter((arg) => !isHelp(arg))
  return rest[0] === "help" ? helpLast(rest) : [...rest, "--help"]
}

/** An unknown command is an error, which effect/cli notices only when no help is asked for. */
const helpOnCommands = (args: ReadonlyArray<string>): ReadonlyArray<string> => {
  const first = args.find((arg) => !isHelp(arg)) ?? "-"
  return first.startsWith("-") || isCommand(first) ? args : [first]
}

const isHelp = (arg: string): boolean => arg === "--help" || arg === "-h"

const isCommand = (word: string): boolean =>
  CommandLine.command.subcommands.some(({ commands }) =>
    commands.some(({ alias, name }) => name === word || alias === word)
  )

/**
 * What begins with a minus is a flag to effect/cli. A task such as "-5 + 3" or "- fix the tests" therefore goes after `--`, and the text
 * of a flag, such as "-20 % is too much", is joined to it.
 */
const minusKept = (args: ReadonlyArray<string>): ReadonlyArray<string> => {
  if (!args.some(isText)) return args
  const end = args.includes("--") ? args.indexOf("--") : args.length
  const texts = textFlags(args[0])
  const flags: Array<string> = []
  const operands: Array<string> = []
  for (const arg of args.slice(0, end)) {
    if (texts.has(flags.at(-1)) && isText(arg)) flags.push(`${flags.pop()}=${arg}`)
    else if (isText(arg)) operands.push(arg)
    else flags.push(arg)
  }
  return [...flags, "--", ...args.slice(end + 1), ...operands]
}

/** An expression, or a sentence: no name of a flag has a blank. */
const isText = (arg: string): boolean => /^-(?:[\d.]+[^\d.]|\()/.test(arg) || /^-(?!-[a-z][a-z-]*=).*\s/s.test(arg)

/** The flags of a command that take a text. */
const textFlags = (command: string | undefined): ReadonlySet<string | undefined> => {
  const { subcommands } = Completions.fromCommand(CommandLine.command)
  const flags = subcommands.find(({ name }) => name === command)?.flags ?? []
  return new Set(flags.filter(({ type }) => type._tag !== "Boolean").map(({ name }) => `--${name}`))
}

const codeOf = Effect.fnUntraced(function*(cause: Cause.Cause<unknown>): Effect.fn.Return<number, never, Output> {
  const { stderr } = yield* Output
  const error = Cause.squash(cause)
  if (error instanceof Ended) return error.code
  if (error instanceof Refusal) {
    yield* stderr.write(`${ErrorWords.line(error.line)}\n`)
    return error.code
  }
  if (CliError.isCliError(error)) {
    return error._tag === "ShowHelp" && error.errors.length === 0
      ? codes.completed
      : codes.usage
  }
  yield* stderr.write(`${ErrorWords.line(ErrorWords.ofDefect(error))}\n`)
  return codes.failed
})

/** Prints help and version on standard output, and a wrong invocation as one line on standard error. */
const presenterOf = Effect.fnUntraced(function*(args: ReadonlyArray<string>) {
  const { stderr, stdout } = yield* Output
  const print = yield* printer
  const colors = stdout.isTerminal && !args.includes("--no-color") && !(yield* Flags.isPlain)
  const formatter = CliOutput.defaultFormatter({ colors })
  const bold = (text: string) => colors ? `\u001b[1m${text}\u001b[0m` : text
  const presenter: CliOutput.Presenter = {
    present: (event) => {
      switch (event._tag) {
        case "Help":
          return print(spaced(`${formatter.formatHelpDoc(event.helpDoc)}\n`) + Help.more(event.commandPath, bold))
        case "Version":
          return print(`${formatter.formatVersion(event.name, event.version)}\n`)
        case "InvalidInvocation": {
          const wrong = usage(event.errors[0]!, event.commandPath, args)
          return stderr.write(`${ErrorWords.line(`${wrong} (see ${event.commandPath.join(" ")} --help)`)}\n`)
        }
      }
    }
  }
  return presenter
})

/** The formatter of effect/cli puts no blank line before its examples. */
const spaced = (help: string): string => help.replace(/([^\n])\n(?=\S*EXAMPLES)/, "$1\n\n")

const usage = (
  error: CliError.NonShowHelpErrors,
  [, command]: ReadonlyArray<string>,
  args: ReadonlyArray<string>
): string => {
  switch (error._tag) {
    case "UnrecognizedOption": {
      const { option, suggestions } = error
      return args[0] !== command
        ? `there is no flag ${option} before a command: put its flags after it`
        : `there is no flag ${option}${option.startsWith("--") ? meant(suggestions) : ""}`
    }
    case "InvalidValue": {
      const times = /^(\d+) occurrences$/.exec(error.value)?.[1]
      return times === undefined ? error.message : `--${error.option} is given ${times} times, but takes one value`
    }
    case "UnexpectedArgument":
      return command === "run"
        ? `the task must be one argument, so put it in quotes: ${JSON.stringify(error.arguments[0])} is left over`
        : `${JSON.stringify(error.arguments[0])} is one argument too many`
    case "MissingArgument":
      return `the ${error.argument} is missing: fiberloop ${command} <${error.argument}>`
    case "UnknownSubcommand":
      return `there is no command ${JSON.stringify(error.subcommand)}${
        meant(error.suggestions) || ": fiberloop run \"<task>\""
      }`
    default:
      return error.message
  }
}

const meant = (suggestions: ReadonlyArray<string>): string =>
  suggestions.length === 0 ? "" : `, did you mean ${suggestions.join(" or ")}?`
