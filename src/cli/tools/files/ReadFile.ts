/** Owns the tool `read_file`. Does not own which paths may be read (`Root.ts`, `OpenFile.ts`). */
import * as Tool from "effect/ai/Tool"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { count } from "../../../run/Quantity.ts"
import * as Arguments from "../Arguments.ts"
import * as ReadOnly from "../ReadOnly.ts"
import * as FileError from "./FileError.ts"
import * as FilePage from "./FilePage.ts"
import * as Lines from "./Lines.ts"
import * as OpenFile from "./OpenFile.ts"
import type * as Root from "./Root.ts"

const defaultMaxLines = 500

/** How many bytes of a file an answer holds at most. Default 24,000. */
export const MaxPageBytes = Context.Reference<number>("fiberloop/cli/files/MaxPageBytes", {
  defaultValue: () => 24_000
})

/** How many characters of JSON the text of an answer has at most, so that no executor has to cut the answer. */
const mostJson = 28_000

const Line = Schema.Int.check(Schema.isGreaterThanOrEqualTo(1))

/** The tool. */
export const tool = Tool.make("read_file", {
  description: "Reads lines of a text file below the root folder. Long files come in pages: when truncated is true, " +
    "continue with fromLine.",
  parameters: Arguments.only({
    path: Schema.String.annotate({ description: "Relative to the root folder" }),
    fromLine: Schema.optionalKey(Line.annotate({ description: "First line, from 1; default 1" })),
    maxLines: Schema.optionalKey(Line.annotate({ description: `At most this many lines, default ${defaultMaxLines}` }))
  }),
  success: Schema.Struct({
    path: Schema.String,
    lines: Schema.Int.annotate({ description: "Lines of the whole file" }),
    from: Schema.Int,
    to: Schema.Int,
    text: Schema.String,
    truncated: Schema.Boolean,
    note: Schema.optionalKey(Schema.String)
  }),
  failure: FileError.FileError,
  failureMode: "return"
}).annotateMerge(ReadOnly.annotations)

/**
 * Answers a call. The text is the file's, endings included; a byte order mark at the start is left out and bytes that are not
 * UTF-8 become U+FFFD. The file is read once, as a stream.
 */
export const handler = (root: Root.Root) =>
  Effect.fn("FileTools.read_file")(function*(
    { fromLine = 1, maxLines = defaultMaxLines, path }: Tool.Parameters<typeof tool>
  ): Effect.fn.Return<Tool.Success<typeof tool>, FileError.FileError> {
    const { name, page, request: { maxBytes }, text } = yield* readText(root, path, {
      fromLine,
      maxLines,
      maxBytes: yield* MaxPageBytes
    })
    if (fromLine > Math.max(page.lines, 1)) return yield* pastEnd(path, fromLine, page.lines)
    const truncated = page.isLineCut || page.to < page.lines
    return {
      path: name,
      lines: page.lines,
      from: fromLine,
      to: page.to,
      text,
      truncated,
      ...(truncated && { note: noteOf(page, maxLines, maxBytes) })
    }
  })

/** A page and its text; of fewer bytes where those are many characters in JSON, as control characters are. */
const readText = Effect.fnUntraced(function*(root: Root.Root, path: string, asked: FilePage.Request) {
  let request = asked
  while (true) {
    const { name, page } = yield* Effect.scoped(readPage(root, path, request))
    // a byte order mark counts only at the start; `stream` drops a character that the cut has split
    const text = new TextDecoder("utf-8", { ignoreBOM: request.fromLine > 1 }).decode(page.bytes, {
      stream: page.isLineCut
    })
    const size = JSON.stringify(text).length
    if (size <= mostJson) return { name, page, request, text }
    request = { ...request, maxBytes: Math.floor(page.bytes.length * mostJson / size) }
  }
})

const readPage = Effect.fnUntraced(function*(root: Root.Root, path: string, request: FilePage.Request) {
  const { file, path: name } = yield* OpenFile.openPath(root, path)
  const collector = FilePage.collector(request)
  let chunk = yield* file.read
  if (Lines.isBinary(chunk)) return yield* binary(path, file.bytes)
  while (chunk.length > 0) {
    collector.push(chunk)
    chunk = yield* file.read
  }
  return { name, page: collector.end() }
})

const noteOf = (page: FilePage.Page, maxLines: number, maxBytes: number): string => {
  const rest = page.to < page.lines ? ` Continue with fromLine ${page.to + 1}.` : ""
  return page.isLineCut
    ? `Line ${page.to} is longer than the ${maxBytes} bytes of one answer: only its start is here.${rest}`
    : `An answer has at most ${maxLines} lines and ${maxBytes} bytes.${rest}`
}

const pastEnd = (path: string, fromLine: number, lines: number) =>
  new FileError.FileError({
    reason: "PastEnd",
    message: `${FileError.quote(path)} has ${count(lines, "line")}: fromLine ${fromLine} is past its end.`
  })

const binary = (path: string, bytes: number) =>
  new FileError.FileError({
    reason: "Binary",
    message: `${FileError.quote(path)} is a binary file of ${bytes} bytes: only text files can be read.`
  })
