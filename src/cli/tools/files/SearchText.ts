/**
 * Owns the tool `search_text`. Does not own which files there are (`FileWalk.ts`) nor which lines match
 * (`LineMatcher.ts`).
 */
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Arguments from "../Arguments.ts"
import * as ReadOnly from "../ReadOnly.ts"
import * as FileError from "./FileError.ts"
import * as FilePattern from "./FilePattern.ts"
import * as FileWalk from "./FileWalk.ts"
import * as LineMatcher from "./LineMatcher.ts"
import * as Lines from "./Lines.ts"
import * as OpenFile from "./OpenFile.ts"
import * as PageNote from "./PageNote.ts"
import type * as Root from "./Root.ts"

const defaultMaxMatches = 100
const longestLine = 10_000
const longestShown = 300

/** A line that matches: `line` is 1-based, `text` at most 300 characters of it. */
const Match = Schema.Struct({ path: Schema.String, line: Schema.Int, text: Schema.String })

/** The tool. */
export const tool = Tool.make("search_text", {
  description:
    "Finds the lines of text files below the root folder that contain a text or match a regular expression " +
    `(JavaScript). Leaves out binary files and ${[...FileWalk.skipped].join(", ")}.`,
  parameters: Arguments.only({
    text: Schema.String.annotate({ description: "What a line contains; case matters" }),
    regex: Schema.optionalKey(Schema.Boolean.annotate({ description: "text is a regular expression; default false" })),
    pattern: Schema.optionalKey(FilePattern.Pattern),
    folder: Schema.optionalKey(FileWalk.Folder),
    ignoreCase: Schema.optionalKey(Schema.Boolean),
    maxMatches: Schema.optionalKey(
      Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000 })).annotate({
        description: `At most this many matches, default ${defaultMaxMatches}`
      })
    ),
    maxPerFile: Schema.optionalKey(
      Schema.Int.check(Schema.isGreaterThanOrEqualTo(1)).annotate({
        description: "At most this many matches of one file; 1 lists the files that match"
      })
    ),
    offset: Schema.optionalKey(
      Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)).annotate({ description: "Leave out this many first matches" })
    )
  }),
  success: Schema.Struct({
    matches: Schema.Array(Match),
    files: Schema.Int.annotate({ description: "Files with a match" }),
    total: Schema.Int.annotate({ description: "Lines that match" }),
    occurrences: Schema.optionalKey(
      Schema.Int.annotate({ description: "How often text occurs, several times in a line too; not for every regex" })
    ),
    truncated: Schema.Boolean,
    note: Schema.optionalKey(Schema.String)
  }),
  failure: FileError.FileError,
  failureMode: "return"
}).annotateMerge(ReadOnly.annotations)

/** Answers a call. Searches all files, so that the totals are right even when matches are left out. */
export const handler = (root: Root.Root) =>
  Effect.fn("FileTools.search_text")(function*(
    {
      folder,
      ignoreCase = false,
      maxMatches = defaultMaxMatches,
      maxPerFile = Infinity,
      offset = 0,
      pattern,
      regex = false,
      text
    }: Tool.Parameters<typeof tool>
  ): Effect.fn.Return<Tool.Success<typeof tool>, FileError.FileError, Scope.Scope> {
    const matcher = yield* LineMatcher.make({ text, isRegex: regex, ignoreCase })
    const found = yield* FileWalk.walk(root, { folder, pattern })
    const matches: Array<typeof Match.Type> = []
    let [files, total, listed, occurrences, cutLines, unreadable, skipped] = [0, 0, 0, 0, 0, found.unnamed, 0]
    const most = Math.min(maxPerFile, offset + maxMatches)
    yield* Stream.fromIterable(found.files).pipe(
      Stream.mapEffect((file) => searchFile(root, file, matcher, most), { concurrency: FileWalk.concurrency }),
      Stream.runForEach((result) =>
        Effect.sync(() => {
          if (result === undefined) return void unreadable++
          for (const match of result.matches) {
            if (skipped < offset) skipped++
            else if (matches.length < maxMatches) matches.push(match)
          }
          if (result.total > 0) files++
          total += result.total
          listed += Math.min(result.total, maxPerFile)
          occurrences += result.occurrences
          cutLines += result.cutLines
        })
      )
    )
    const page = { offset, length: matches.length, total: listed }
    const notes = [
      ...PageNote.of(page, "matches", "folder, pattern or text"),
      ...(cutLines > 0 ? [`Lines searched only in their first ${longestLine} characters: ${cutLines}.`] : []),
      ...(unreadable > 0 ? [`Files that could not be read: ${unreadable}.`] : []),
      ...(found.unreadable > 0 ? [`Folders that could not be listed: ${found.unreadable}.`] : [])
    ]
    return {
      matches,
      files,
      total,
      ...(!Number.isNaN(occurrences) && { occurrences }),
      truncated: PageNote.isTruncated(page),
      ...(notes.length > 0 && { note: notes.join(" ") })
    }
  }, Effect.scoped)

/** The matches of a file, none when it is binary; `undefined` when it cannot be read. */
const searchFile = Effect.fnUntraced(
  function*(root: Root.Root, { path, real }: FileWalk.WalkedFile, matcher: LineMatcher.LineMatcher, max: number) {
    const file = yield* OpenFile.open(root, real, path)
    const splitter = Lines.splitter(longestLine)
    const decoder = new TextDecoder()
    const matches: Array<typeof Match.Type> = []
    let [total, occurrences, cutLines] = [0, 0, 0]
    let chunk = yield* file.read
    if (Lines.isBinary(chunk)) return { matches, total, occurrences, cutLines }
    while (true) {
      const isEnd = chunk.length === 0
      const lines = splitter.push(decoder.decode(chunk, { stream: !isEnd }))
      for (const searched of isEnd ? [lines, splitter.end()] : [lines]) {
        for (const { at, count = NaN, line } of yield* matcher(searched)) {
          total++
          occurrences += count
          if (matches.length < max) matches.push({ path, line: line.number, text: shown(line.text, at) })
        }
        for (const line of searched) if (line.isCut) cutLines++
      }
      if (isEnd) return { matches, total, occurrences, cutLines }
      chunk = yield* file.read
    }
  },
  Effect.scoped,
  Effect.catchIf((error) => error.reason !== "RegexTooSlow", () => Effect.succeed(undefined))
)

/** The start of the line, or the part around the match when that is further on. */
const shown = (text: string, at: number): string => {
  if (at < longestShown) return Lines.cut(text, longestShown)
  const from = at - 50
  return Lines.cut(`...${text.slice(from)}`.toWellFormed(), longestShown)
}
