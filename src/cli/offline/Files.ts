/**
 * The file tools as plans use them: typed replies, refusals as data, and pages small enough to come back whole.
 * Does not own the tools.
 */
import type * as Tool from "effect/ai/Tool"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as FileError from "../tools/files/FileError.ts"
import * as ListFiles from "../tools/files/ListFiles.ts"
import * as ReadFile from "../tools/files/ReadFile.ts"
import * as SearchText from "../tools/files/SearchText.ts"
import type { Where } from "./Intent.ts"
import { all, type Ask, type Plan, type Reply } from "./Plan.ts"
import { literal } from "./WhichFiles.ts"

/** A tool did not do what was asked: `reason` is the tool's own, or `undefined` when the runtime answered instead. */
export interface Refused {
  readonly _tag: "Refused"
  readonly reason: FileError.FileError["reason"] | undefined
  readonly message: string
}

/** The result is longer than a tool's answer may be. */
interface Cut {
  readonly _tag: "Cut"
}

type Got<A> = { readonly _tag: "Got"; readonly value: A }

const got = <A>(value: A): Got<A> => ({ _tag: "Got", value })

function* call<A>(
  tool: string,
  params: Ask["params"],
  decode: (u: unknown) => Option.Option<A>
): Plan<Got<A> | Cut | Refused> {
  const [reply] = yield [{ tool, params }]
  return reply!.isFailure ? refused(tool, reply!) : Option.match(decode(reply!.result), {
    onNone: () => ({ _tag: "Cut" }),
    onSome: (value) => got(value)
  })
}

const decodeError = Schema.decodeUnknownOption(Schema.Struct({ reason: Schema.String, message: Schema.String }))

/** What a failed call says, in words. */
export const refused = (tool: string, { result }: Reply): Refused =>
  Option.match(decodeError(result), {
    onNone: () => ({
      _tag: "Refused",
      reason: undefined,
      message: `${tool} gave no answer: ${
        typeof result === "string" ? result.replace(/\.$/, "") : JSON.stringify(result)
      }. Ask again, or ask for something else.`
    }),
    onSome: ({ message, reason }) => ({ _tag: "Refused", reason: reason as Refused["reason"], message })
  })

type Listed = Tool.Success<typeof ListFiles.tool>
type Found = Tool.Success<typeof SearchText.tool>
type Page = Tool.Success<typeof ReadFile.tool>

const decodeListed = Schema.decodeUnknownOption(ListFiles.tool.successSchema)
const decodeFound = Schema.decodeUnknownOption(SearchText.tool.successSchema)
const decodePage = Schema.decodeUnknownOption(ReadFile.tool.successSchema)

export const tooLong: Refused = {
  _tag: "Refused",
  reason: undefined,
  message: "One entry of the result is longer than the 30,000 characters that a tool may answer. Ask for another file."
}

const pageSize = 100

/** The first `want` entries of `list_files` and the total: one page first, then the others in parallel. */
export const list = (params: Ask["params"], want: number): Plan<Got<Listed> | Refused> =>
  paged(want, "limit", (page) => call("list_files", { ...params, ...page }, decodeListed), {
    join: (pages) => ({ ...pages[0]!, entries: pages.flatMap((page) => page.entries) }),
    count: (page) => page.total
  })

/** The first `want` matches of `search_text` and the totals. */
export const search = (params: Ask["params"], want: number): Plan<Got<Found> | Refused> =>
  paged(want, "maxMatches", (page) => call("search_text", { ...params, ...page }, decodeFound), {
    join: (pages) => ({ ...pages[0]!, matches: pages.flatMap((page) => page.matches) }),
    count: (page) => params.maxPerFile === 1 ? page.files : page.total
  })

type Ranged<A> = (page: { readonly [key: string]: number }) => Plan<Got<A> | Cut | Refused>

function* paged<A>(
  want: number,
  limit: string,
  ask: Ranged<A>,
  pages: { readonly join: (pages: ReadonlyArray<A>) => A; readonly count: (page: A) => number }
): Plan<Got<A> | Refused> {
  const first = yield* halved(0, Math.min(want, pageSize), limit, ask, pages.join)
  if (first._tag === "Refused") return first
  const end = Math.min(want, pages.count(first.value))
  const rest: Array<Plan<Got<A> | Refused>> = []
  for (let at = pageSize; at < end; at += pageSize) {
    rest.push(halved(at, Math.min(pageSize, end - at), limit, ask, pages.join))
  }
  const more = yield* all(rest)
  const bad = more.find((page) => page._tag === "Refused")
  return bad ?? got(pages.join([first, ...more].flatMap((page) => page._tag === "Got" ? [page.value] : [])))
}

/** A page that is too long to come back whole is asked for in two halves. */
function* halved<A>(
  offset: number,
  size: number,
  limit: string,
  ask: Ranged<A>,
  join: (pages: ReadonlyArray<A>) => A
): Plan<Got<A> | Refused> {
  const page = yield* ask({ [limit]: size, ...(offset > 0 && { offset }) })
  if (page._tag !== "Cut") return page
  if (size === 1) return tooLong
  const half = Math.ceil(size / 2)
  const [left, right] = yield* all([
    halved(offset, half, limit, ask, join),
    halved(offset + half, size - half, limit, ask, join)
  ])
  if (left!._tag === "Refused") return left!
  return right!._tag === "Refused" ? right! : got(join([left!.value, right!.value]))
}

/** At most `maxLines` lines of a file; `Cut` when they are too long together. */
export const read = (path: string, fromLine: number, maxLines: number): Plan<Got<Page> | Cut | Refused> =>
  call("read_file", { path, fromLine, maxLines }, decodePage)

/** The result of `use` in the first place that exists; `folder` is absent at the root. */
export function* within<A>(
  { folders, pattern }: Where,
  use: (params: Ask["params"]) => Plan<Got<A> | Refused>
): Plan<{ readonly result: Got<A> | Refused; readonly folder?: string }> {
  const selected = pattern === undefined ? {} : { pattern }
  if (folders.length === 0) return { result: yield* use(selected) }
  let first: Refused | undefined
  for (const folder of folders) {
    const result = yield* use({ ...selected, folder })
    if (result._tag === "Got") return { result, folder }
    if (result.reason === "NotAFolder" && pattern === undefined) {
      return { result: yield* use({ pattern: anchored(folder) }), folder }
    }
    first ??= result
    if (result.reason !== "NotFound") break
  }
  return { result: first!, folder: folders[0]! }
}

/** A pattern that selects one path from the root. */
export const anchored = (path: string): string => `/${literal(path.replace(/^(?:\.?\/)+/, ""))}`
