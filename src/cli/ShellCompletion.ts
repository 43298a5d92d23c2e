/** The script by which a shell completes the command. Does not own which commands and flags there are. */
import type * as Command from "effect/cli/Command"
import * as Completions from "effect/cli/Completions"

type PathType = "file" | "directory" | "either"

/** Parameters that are paths, which the commands read as texts and refuse in their own words; by command where needed. */
const paths: Readonly<Record<string, PathType>> = {
  root: "directory",
  db: "file",
  "export to": "file",
  "import file": "file"
}

const typed = <P extends { readonly name: string; readonly type: { readonly _tag: string } }>(
  command: string,
  parameter: P
): P => {
  const pathType = paths[parameter.name] ?? paths[`${command} ${parameter.name}`]
  return pathType === undefined ? parameter : { ...parameter, type: { _tag: "Path", pathType } }
}

const flag = (
  name: string,
  description: string,
  type: Completions.FlagType
): Completions.FlagDescriptor => ({ name, aliases: [], description, type, negation: false })

/** A flag that effect/cli adds by itself and does not list for a command. */
const help = flag("help", "Show help information", { _tag: "Boolean" })
const alone = [
  flag("version", "Show version information", { _tag: "Boolean" }),
  flag("completions", "Print a completion script", { _tag: "Choice", values: ["bash", "zsh", "fish"] })
]

const whole = (command: Completions.CommandDescriptor): Completions.CommandDescriptor => ({
  ...command,
  flags: [...command.flags.map((flag) => typed(command.name, flag)), help],
  arguments: command.arguments.map((argument) => typed(command.name, argument)),
  subcommands: command.subcommands.map(whole)
})

/** A text to be sourced, ending with a line feed. */
export const script = (command: Command.Command.Any, shell: Completions.Shell): string => {
  const { flags, ...rest } = whole(Completions.fromCommand(command))
  return `${Completions.generate(command.name, shell, { ...rest, flags: [...flags, ...alone] }).trimEnd()}\n`
}
