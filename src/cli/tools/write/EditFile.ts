/** Owns the tool `edit_file`. Does not own what a replacement is (`Replacement.ts`) nor where files may be (`Target.ts`). */
import * as Tool from "effect/ai/Tool"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Arguments from "../Arguments.ts"
import * as Changing from "../Changing.ts"
import * as Excerpt from "../Excerpt.ts"
import * as FileError from "../files/FileError.ts"
import type * as Root from "../files/Root.ts"
import * as Utf8 from "../files/Utf8.ts"
import * as AtomicWrite from "./AtomicWrite.ts"
import * as ChangeError from "./ChangeError.ts"
import * as CurrentFile from "./CurrentFile.ts"
import * as Replacement from "./Replacement.ts"
import * as ShownFiles from "./ShownFiles.ts"
import * as Target from "./Target.ts"
import * as UnifiedDiff from "./UnifiedDiff.ts"

/** How many characters of JSON the diff in an answer has at most. Default 10,000. */
export const MaxDiff = Context.Reference<number>("fiberloop/cli/write/MaxDiff", { defaultValue: () => 10_000 })

/** Larger files are not edited. Default 10 million. */
export const MaxFileBytes = Context.Reference<number>("fiberloop/cli/write/MaxFileBytes", {
  defaultValue: () => 10_000_000
})

/** The tool. */
export const tool = Tool.make("edit_file", {
  description:
    "Replaces a text in a file below the root folder, exactly: oldText must be in the file once, or set all. " +
    "Read the file first.",
  parameters: Arguments.only({
    path: Schema.String.annotate({ description: "Relative to the root folder" }),
    oldText: Schema.String.annotate({
      description: "What to replace, exactly as it is in the file, with enough around it"
    }),
    newText: Schema.String.annotate({ description: "What stands there instead" }),
    all: Schema.optionalKey(Schema.Boolean.annotate({ description: "Replace every occurrence; default false" }))
  }),
  success: Schema.Struct({
    path: Schema.String,
    replacements: Schema.Int,
    diff: Schema.String.annotate({ description: "A unified diff, its middle left out when it is long" })
  }),
  failure: ChangeError.Failure,
  failureMode: "return"
}).annotateMerge(Changing.annotations)

/** Answers a call. Line endings and a byte order mark stay as they are. */
export const handler = (root: Root.Root, shown: ShownFiles.ShownFiles) =>
  Effect.fn("FileTools.edit_file")(function*(
    params: Tool.Parameters<typeof tool>
  ): Effect.fn.Return<Tool.Success<typeof tool>, ChangeError.Failure> {
    const seen = shown.take(tool.name, params)
    const target = yield* Target.locate(root, params.path)
    if (!target.exists) return yield* missing(params.path)
    const { after, before, replacements } = yield* Effect.scoped(edit(root, target, params, seen))
    const { text } = Excerpt.ofText(UnifiedDiff.make(before, after), yield* MaxDiff)
    return { path: target.path, replacements, diff: text }
  })

const edit = Effect.fnUntraced(function*(
  root: Root.Root,
  target: Target.Target,
  params: Tool.Parameters<typeof tool>,
  seen: ShownFiles.Content | undefined
) {
  const folder = yield* Target.openFolder(root, target)
  const current = yield* CurrentFile.open(folder, target.name, target.path)
  if (current === undefined) return yield* missing(params.path)
  const maxBytes = yield* MaxFileBytes
  if (current.status.size > maxBytes) return yield* tooLarge(params.path, maxBytes)
  const bytes = yield* current.read
  yield* ShownFiles.requireSame(seen, ShownFiles.at(target.real, ShownFiles.of(bytes)), target.path)
  const change = yield* Effect.fromResult(plan(bytes, params))
  yield* AtomicWrite.write(folder, target.name, Buffer.from(change.after), current, target.path)
  return change
})

/** The change that a call makes to a file with this content. */
export const plan = (
  bytes: Uint8Array,
  params: Tool.Parameters<typeof tool>
): Result.Result<
  { readonly before: string; readonly after: string; readonly replacements: number },
  ChangeError.ChangeError
> => {
  const before = Utf8.decode(bytes)
  if (before === undefined) return Result.fail(notText(`${FileError.quote(params.path)} is no UTF-8 text`))
  if (Utf8.encode(params.oldText + "\n" + params.newText) === undefined) {
    return Result.fail(notText("oldText or newText has a NUL character or half a surrogate pair"))
  }
  return Result.map(
    Replacement.replace(before, params),
    ({ replacements, text }) => ({ before, after: text, replacements })
  )
}

const notText = (what: string) =>
  new ChangeError.ChangeError({ reason: "NotText", message: `${what}: only text files can be edited.` })

const missing = (path: string) =>
  new FileError.FileError({
    reason: "NotFound",
    message: `${FileError.quote(path)} does not exist: see with list_files what is there, or make it with write_file.`
  })

const tooLarge = (path: string, maxBytes: number) =>
  new ChangeError.ChangeError({
    reason: "TooLarge",
    message: `${FileError.quote(path)} has more than ${maxBytes} bytes: it is too large to edit.`
  })
