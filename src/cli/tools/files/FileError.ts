/**
 * Owns what can go wrong with a file, in words that a model can act on, and the one translation of Node's error codes.
 * Does not own where files may be (`Root.ts`).
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/** A file tool could not answer: `message` names the path as it was given, what is wrong and what to try. */
export class FileError extends Schema.TaggedError<FileError>()("FileError", {
  reason: Schema.Literals([
    "InvalidPath",
    "OutsideRoot",
    "NotFound",
    "NotAFile",
    "NotAFolder",
    "Binary",
    "PastEnd",
    "PermissionDenied",
    "InvalidText",
    "RegexTooSlow",
    "TooManyFiles",
    "Unreadable"
  ]),
  message: Schema.String
}) {}

const longestQuote = 200

/** A path in quotes, cut at 200 characters, with control characters and lone surrogates escaped. */
export const quote = (path: string): string =>
  JSON.stringify(path.length > longestQuote ? `${path.slice(0, longestQuote)}...` : path)

/** The path's own text leads outside the root. */
export const outside = (path: string): FileError =>
  new FileError({
    reason: "OutsideRoot",
    message: `${quote(path)} is outside the root folder: only files below the root can be read. ` +
      "Use a path relative to the root."
  })

/** The path's text is below the root, but its target is not; says the same whether or not the target exists. */
export const leadsOutside = (path: string): FileError =>
  new FileError({
    reason: "OutsideRoot",
    message: `${quote(path)} goes through a symbolic link that leads out of the root folder, in a circle or nowhere: ` +
      "only files below the root can be read."
  })

/** The root folder itself does not exist any more. */
export const rootGone = (root: string): FileError =>
  new FileError({
    reason: "Unreadable",
    message: `The root folder ${quote(root)} is gone: nothing can be read, changed or run there. Tell the user.`
  })

/** The path was replaced between the check and the opening, and what was opened is not below the root. */
export const replaced = (path: string): FileError =>
  new FileError({
    reason: "OutsideRoot",
    message: `${quote(path)} was replaced while it was opened and is no longer below the root folder: ` +
      "only files below the root can be read."
  })

/** The path is a folder where a file is needed. */
export const isFolder = (path: string): FileError =>
  new FileError({
    reason: "NotAFile",
    message: `${quote(path)} is a folder: list it with list_files and its path as folder.`
  })

/** The path is a FIFO, a socket or a device. */
export const isSpecial = (path: string): FileError =>
  new FileError({
    reason: "NotAFile",
    message: `${quote(path)} is no regular file (a FIFO, socket or device) and cannot be read. Choose another file.`
  })

/** The path is a file where a folder is needed. */
export const isNoFolder = (path: string): FileError =>
  new FileError({
    reason: "NotAFolder",
    message: `${quote(path)} is not a folder: leave folder out, or name the folder that holds it.`
  })

/** Translates what a call to `node:fs` threw about `path`. */
export const fromNode = (path: string) => (cause: unknown): FileError => {
  const code = (cause as NodeJS.ErrnoException).code ?? "unknown error"
  const name = quote(path)
  switch (code) {
    case "ENOENT":
    case "ENOTDIR":
      return new FileError({
        reason: "NotFound",
        message: `${name} does not exist: see with list_files what is there.`
      })
    case "EACCES":
    case "EPERM":
      return new FileError({
        reason: "PermissionDenied",
        message: `${name} must not be read by this user (${code}). Choose another file.`
      })
    case "ENAMETOOLONG":
      return new FileError({
        reason: "InvalidPath",
        message: `${name} is too long for a path (${code}). Choose a shorter one.`
      })
    case "ELOOP":
      return leadsOutside(path)
    case "EISDIR":
      return isFolder(path)
    case "ENXIO":
    case "ENODEV":
      return isSpecial(path)
    default:
      return new FileError({ reason: "Unreadable", message: `${name} could not be read (${code}). Try again.` })
  }
}

/** Runs a call to `node:fs` about `path`, and translates its rejection. */
export const attempt = <A>(path: string, call: () => Promise<A>): Effect.Effect<A, FileError> =>
  Effect.tryPromise({ try: call, catch: fromNode(path) })
