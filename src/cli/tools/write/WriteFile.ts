/** Owns the tool `write_file`. Does not own where files may be (`Target.ts`) nor how they are replaced (`AtomicWrite.ts`). */
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Arguments from "../Arguments.ts"
import * as Changing from "../Changing.ts"
import * as FileError from "../files/FileError.ts"
import type * as Root from "../files/Root.ts"
import * as Utf8 from "../files/Utf8.ts"
import * as AtomicWrite from "./AtomicWrite.ts"
import * as ChangeError from "./ChangeError.ts"
import * as CurrentFile from "./CurrentFile.ts"
import * as EditFile from "./EditFile.ts"
import * as ShownFiles from "./ShownFiles.ts"
import * as Target from "./Target.ts"

/** The tool. */
export const tool = Tool.make("write_file", {
  description:
    "Creates a text file below the root folder, or replaces the whole content of one. Makes missing folders. " +
    "To change a part of a file use edit_file.",
  parameters: Arguments.only({
    path: Schema.String.annotate({ description: "Relative to the root folder" }),
    content: Schema.String.annotate({ description: "The whole new content" })
  }),
  success: Schema.Struct({
    path: Schema.String,
    bytes: Schema.Int,
    lines: Schema.Int,
    created: Schema.Boolean.annotate({ description: "false: there was a file, and it was replaced" })
  }),
  failure: ChangeError.Failure,
  failureMode: "return"
}).annotateMerge(Changing.annotations)

/** Answers a call. Does not touch a file that has this content already. */
export const handler = (root: Root.Root, shown: ShownFiles.ShownFiles) =>
  Effect.fn("FileTools.write_file")(function*(
    params: Tool.Parameters<typeof tool>
  ): Effect.fn.Return<Tool.Success<typeof tool>, ChangeError.Failure> {
    const { content, path } = params
    const seen = shown.take(tool.name, params)
    const bytes = Utf8.encode(content)
    if (bytes === undefined) return yield* notText(path)
    const target = yield* Target.locate(root, path)
    const isCreated = yield* Effect.scoped(put(root, target, bytes, seen))
    return { path: target.path, bytes: bytes.length, lines: Utf8.countLines(content), created: isCreated }
  })

const put = Effect.fnUntraced(function*(
  root: Root.Root,
  target: Target.Target,
  bytes: Uint8Array,
  seen: ShownFiles.Content | undefined
) {
  const folder = yield* Target.openFolder(root, target)
  const current = yield* CurrentFile.open(folder, target.name, target.path)
  const isRead = current !== undefined && current.status.size <= (yield* EditFile.MaxFileBytes)
  const before = isRead ? yield* current.read : undefined
  if (before?.equals(bytes) === true) return false
  const content = before !== undefined
    ? ShownFiles.of(before)
    : current === undefined
    ? ShownFiles.absent
    : ShownFiles.large(current.status.size)
  yield* ShownFiles.requireSame(seen, ShownFiles.at(target.real, content), target.path)
  yield* AtomicWrite.write(folder, target.name, bytes, current, target.path)
  return current === undefined
})

const notText = (path: string) =>
  new ChangeError.ChangeError({
    reason: "NotText",
    message: `content for ${
      FileError.quote(path)
    } has a NUL character or half a surrogate pair: only text can be written.`
  })
