/** Owns the tool `list_files`. Does not own which files there are (`FileWalk.ts`) nor what a line is (`Lines.ts`). */
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { lstat, realpath } from "node:fs/promises"
import * as Arguments from "../Arguments.ts"
import * as ReadOnly from "../ReadOnly.ts"
import * as FileError from "./FileError.ts"
import * as FilePattern from "./FilePattern.ts"
import * as FileWalk from "./FileWalk.ts"
import * as Lines from "./Lines.ts"
import * as OpenFile from "./OpenFile.ts"
import * as PageNote from "./PageNote.ts"
import type * as Root from "./Root.ts"

const defaultLimit = 300

/** A file: `lines` counts an unterminated last line too and is null for binary and unreadable files. */
const Entry = Schema.Struct({
  path: Schema.String,
  bytes: Schema.Int,
  lines: Schema.NullOr(Schema.Int)
})

/** The tool. */
export const tool = Tool.make("list_files", {
  description:
    `Lists files below the root folder with size and number of lines (null for binary files), sorted by path or as asked. ` +
    `Leaves out ${[...FileWalk.skipped].join(", ")}. Does not enter linked folders.`,
  parameters: Arguments.only({
    pattern: Schema.optionalKey(FilePattern.Pattern),
    folder: Schema.optionalKey(FileWalk.Folder),
    limit: Schema.optionalKey(
      Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 10_000 })).annotate({
        description: `At most this many entries, default ${defaultLimit}`
      })
    ),
    offset: Schema.optionalKey(
      Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)).annotate({ description: "Leave out this many first entries" })
    ),
    sort: Schema.optionalKey(Schema.Literals(["path", "lines", "bytes"]).annotate({ description: "Default path" })),
    order: Schema.optionalKey(
      Schema.Literals(["asc", "desc"]).annotate({
        description: "Default asc; equal ones by path, files without lines last"
      })
    )
  }),
  success: Schema.Struct({
    entries: Schema.Array(Entry),
    total: Schema.Int,
    truncated: Schema.Boolean,
    note: Schema.optionalKey(Schema.String)
  }),
  failure: FileError.FileError,
  failureMode: "return"
}).annotateMerge(ReadOnly.annotations)

/** Answers a call; leaves out files that vanish meanwhile. Opens only one page's files, unless it sorts by size. */
export const handler = (root: Root.Root) =>
  Effect.fn("FileTools.list_files")(function*(
    { folder, limit = defaultLimit, offset = 0, order = "asc", pattern, sort = "path" }: Tool.Parameters<typeof tool>
  ): Effect.fn.Return<Tool.Success<typeof tool>, FileError.FileError> {
    const found = yield* FileWalk.walk(root, { folder, pattern })
    const ordered = sort === "path" && order === "desc" ? found.files.toReversed() : found.files
    const opened = sort === "path" ? ordered.slice(offset, offset + limit) : ordered
    const described = (yield* Effect.forEach(opened, (file) => describe(root, file), {
      concurrency: FileWalk.concurrency
    })).filter((entry) => entry !== undefined)
    const entries = sort === "path"
      ? described
      : described.sort(bySize(sort, order)).slice(offset, offset + limit)
    const total = found.files.length - (opened.length - described.length)
    const page = { offset, length: entries.length, total }
    const notes = [
      ...PageNote.of(page, "files", "folder or pattern"),
      ...(found.unnamed > 0 ? [`Files left out because their names are not UTF-8: ${found.unnamed}.`] : []),
      ...(found.unreadable > 0 ? [`Folders that could not be listed: ${found.unreadable}.`] : [])
    ]
    return { entries, total, truncated: PageNote.isTruncated(page), ...(notes.length > 0 && { note: notes.join(" ") }) }
  })

/** Files without lines come last in both orders; equal files stay in path order. */
const bySize = (size: "lines" | "bytes", order: "asc" | "desc") => (a: typeof Entry.Type, b: typeof Entry.Type) => {
  const [left, right] = [a[size], b[size]]
  if (left === null || right === null) return left === right ? 0 : left === null ? 1 : -1
  return order === "asc" ? left - right : right - left
}

const describe = (root: Root.Root, file: FileWalk.WalkedFile): Effect.Effect<typeof Entry.Type | undefined> =>
  Effect.gen(function*() {
    const open = yield* OpenFile.open(root, file.real, file.path)
    return { path: file.path, bytes: open.bytes, lines: yield* Lines.count(open) }
  }).pipe(
    Effect.scoped,
    Effect.catch((error) => error.reason === "PermissionDenied" ? unreadable(file) : Effect.succeed(undefined))
  )

/** A file that must not be opened still has a size, if its path still leads to what was found. */
const unreadable = (file: FileWalk.WalkedFile) =>
  Effect.gen(function*() {
    const status = yield* FileError.attempt(file.path, () => lstat(file.real))
    const now = yield* FileError.attempt(file.path, () => realpath(file.real))
    return now === file.real && status.isFile() ? { path: file.path, bytes: status.size, lines: null } : undefined
  }).pipe(Effect.orElseSucceed(() => undefined))
