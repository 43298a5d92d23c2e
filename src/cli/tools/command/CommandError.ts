/** Owns why a command did not start, in words that a model can act on. */
import * as Schema from "effect/Schema"
import * as FileError from "../files/FileError.ts"

/** The command did not start: nothing was done. `message` names it, what is wrong and what to try. */
export class CommandError extends Schema.TaggedError<CommandError>()("CommandError", {
  reason: Schema.Literals(["InvalidCommand", "NotFound", "PermissionDenied", "NotStarted"]),
  message: Schema.String
}) {}

/** An argument that cannot be passed to a program. */
export const invalid = (what: string): CommandError =>
  new CommandError({ reason: "InvalidCommand", message: `${what}: nothing was started.` })

/** Translates the error of starting `program`. */
export const fromNode = (program: string) => (cause: unknown): CommandError => {
  const code = (cause as NodeJS.ErrnoException).code ?? "unknown error"
  const name = FileError.quote(program)
  switch (code) {
    case "ENOENT":
      return new CommandError({
        reason: "NotFound",
        message: `${name} was not found: there is no such program, or what its first line names is missing. ` +
          "The first word is the program; no shell reads the list."
      })
    case "EACCES":
    case "EPERM":
      return new CommandError({
        reason: "PermissionDenied",
        message: `${name} is not a program that this user may run (${code}). Choose another one.`
      })
    case "E2BIG":
      return new CommandError({
        reason: "NotStarted",
        message: `The arguments of ${name} are too long (${code}): write them to a file and name that.`
      })
    default:
      return new CommandError({
        reason: "NotStarted",
        message: `${name} could not be started (${code}). Check its name.`
      })
  }
}
