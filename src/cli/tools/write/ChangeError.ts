/**
 * Owns what can go wrong with changing a file, in words that a model can act on. What can go wrong with finding it is a
 * `FileError`, reworded here for a change.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as FileError from "../files/FileError.ts"

/** A file could not be changed, and is as it was. `message` names it, what is wrong and what to try. */
export class ChangeError extends Schema.TaggedError<ChangeError>()("ChangeError", {
  reason: Schema.Literals([
    "NotText",
    "TooLarge",
    "TextNotFound",
    "TextNotUnique",
    "NothingToChange",
    "ChangedMeanwhile",
    "NotWritable"
  ]),
  message: Schema.String
}) {}

/** What a tool that changes files fails with. */
export const Failure = Schema.Union([FileError.FileError, ChangeError])
export type Failure = typeof Failure.Type

const { quote } = FileError

/** The path leads out of the root; says the same whether or not something is there. */
const outside = (path: string): FileError.FileError =>
  new FileError.FileError({
    reason: "OutsideRoot",
    message:
      `${quote(path)} is not below the root folder, by its text or because a symbolic link leads out, in a circle or ` +
      "nowhere: only what is below the root can be changed or used. Give a path relative to the root."
  })

/** Something on the path was replaced between the check and the use. */
export const replaced = (path: string): FileError.FileError =>
  new FileError.FileError({
    reason: "OutsideRoot",
    message: `${
      quote(path)
    } was replaced while it was opened: only what stays below the root folder can be changed or used.`
  })

/** The path is a folder where a file is needed. */
export const isFolder = (path: string): FileError.FileError =>
  new FileError.FileError({
    reason: "NotAFile",
    message: `${quote(path)} is a folder: name a file in it.`
  })

/** The path is a FIFO, a socket or a device. */
export const isSpecial = (path: string): FileError.FileError =>
  new FileError.FileError({
    reason: "NotAFile",
    message: `${quote(path)} is no regular file (a FIFO, socket or device) and cannot be written. Choose another file.`
  })

/** A file is where the path needs a folder. */
export const isNoFolder = (path: string): FileError.FileError =>
  new FileError.FileError({
    reason: "NotAFolder",
    message: `${quote(path)} is a file, not a folder: nothing can be in it. Choose another path.`
  })

/** Somebody else changed the file between reading and replacing it. */
export const changedMeanwhile = (path: string): ChangeError =>
  new ChangeError({
    reason: "ChangedMeanwhile",
    message: `${quote(path)} was changed by somebody else meanwhile and was left as it is: read it again.`
  })

/** Somebody else changed the file after a person was shown what the change would do. */
export const changedSinceShown = (path: string): ChangeError =>
  new ChangeError({
    reason: "ChangedMeanwhile",
    message: `${quote(path)} changed after it was shown to the user, and was left as it is: read it again.`
  })

/** Rewords a `FileError` about looking for a change. */
export const fromLooking = (path: string) => (error: FileError.FileError): FileError.FileError | ChangeError =>
  error.reason === "OutsideRoot"
    ? outside(path)
    : error.reason === "PermissionDenied"
    ? notWritable(path, "this user may not")
    : error

/** Translates what a call to `node:fs` threw about `path`, or about a temporary name for it. */
const fromNode = (path: string) => (cause: unknown): Failure => {
  const code = (cause as NodeJS.ErrnoException).code ?? "unknown error"
  switch (code) {
    case "ENOENT":
      return changedMeanwhile(path)
    case "ELOOP":
    case "ENOTDIR":
      return replaced(path)
    case "EISDIR":
      return isFolder(path)
    case "ENAMETOOLONG":
      return FileError.fromNode(path)(cause)
    case "EACCES":
    case "EPERM":
      return notWritable(path, `this user may not (${code})`)
    case "ENOSPC":
    case "EDQUOT":
      return notWritable(path, `there is no space left (${code})`)
    case "EROFS":
      return notWritable(path, `the file system is read-only (${code})`)
    default:
      return notWritable(path, code)
  }
}

const notWritable = (path: string, why: string) =>
  new ChangeError({ reason: "NotWritable", message: `${quote(path)} could not be written: ${why}. It is as it was.` })

/** Runs a call to `node:fs` for a change of `path`, and translates its rejection. */
export const attempt = <A>(path: string, call: () => Promise<A>): Effect.Effect<A, Failure> =>
  Effect.tryPromise({ try: call, catch: fromNode(path) })
