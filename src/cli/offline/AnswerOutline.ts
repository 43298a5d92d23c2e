/** Answers which headings or exported declarations a file has, from `read_file`. */
import * as AnswerRead from "./AnswerRead.ts"
import type { Outline } from "./Intent.ts"
import type { Plan } from "./Plan.ts"
import * as Wording from "./Wording.ts"

const mostLines = 100_000

/** One line of an outline. */
export interface Entry {
  readonly line: number
  readonly text: string
}

export function* plan({ path }: Outline): Plan<string> {
  return yield* AnswerRead.located(path, function*(path) {
    const read = yield* AnswerRead.readLines(path, 1, Infinity, mostLines)
    if ("_tag" in read) return read
    const kind = kindOf(read.path)
    if (kind === undefined) {
      return `${
        Wording.name(read.path)
      } has no outline that is known here: only Markdown, TypeScript, JavaScript and Python do.`
    }
    const entries = kind.entries(read.text.split(/\r?\n/))
    const width = String(entries[entries.length - 1]?.line ?? 0).length
    const part = read.to < read.total ? ` in its first ${read.to} of ${read.total} lines` : ""
    return Wording.lines(
      `${Wording.name(read.path)} has ${
        entries.length === 0 ? `no ${kind.noun}s` : Wording.count(entries.length, kind.noun)
      }` +
        `${part}${entries.length === 0 ? "." : ":"}`,
      entries.map(({ line, text }) => `${String(line).padStart(width)}  ${text}`)
    )
  })
}

interface Kind {
  readonly noun: string
  readonly entries: (lines: ReadonlyArray<string>) => ReadonlyArray<Entry>
}

const kindOf = (path: string): Kind | undefined => {
  if (/\.(?:md|mdx|markdown)$/i.test(path)) return { noun: "heading", entries: headings }
  if (/\.[cm]?[jt]sx?$/i.test(path)) return { noun: "exported declaration", entries: exported }
  if (/\.py$/i.test(path)) return { noun: "top-level definition", entries: definitions }
  return undefined
}

/** ATX and setext headings outside of fenced code, see spec.commonmark.org. */
export const headings = (lines: ReadonlyArray<string>): ReadonlyArray<Entry> => {
  const entries: Array<Entry> = []
  let fence: string | undefined
  for (const [index, line] of lines.entries()) {
    const mark = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line)
    if (fence !== undefined) {
      if (mark?.[1]?.startsWith(fence) === true && mark[2]!.trim() === "") fence = undefined
    } else if (mark !== null && !(mark[1]!.startsWith("`") && mark[2]!.includes("`"))) fence = mark[1]
    else {
      const atx = /^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$/.exec(line)
      const underline = /^ {0,3}(=+|-+)[ \t]*$/.exec(line)?.[1]
      const above = lines[index - 1] ?? ""
      if (atx !== null) entries.push({ line: index + 1, text: `${atx[1]} ${atx[2] ?? ""}`.trim() })
      else if (underline !== undefined && isParagraph(above) && !isParagraph(lines[index - 2] ?? "")) {
        entries.push({ line: index, text: `${underline.startsWith("=") ? "#" : "##"} ${above.trim()}` })
      }
    }
  }
  return entries
}

const isParagraph = (line: string): boolean =>
  line.trim() !== "" && !/^ {0,3}(?:[#>|]|[-*+] |\d+[.)] |`{3}|~{3}|---|===)|^ {4}/.test(line)

const declaration =
  /^export\s+(?:default\s+)?(?:declare\s+)?(?:abstract\s+)?(?:async\s+)?(?:const\s+enum|function\s*\*?|class|const|let|var|interface|type|enum|namespace|module)\s+[\w$]+/
const other = /^export\s+(?:default\b|\*|=|type\s*[{*]|\{|(?:const|let|var)\s*[[{])/

/** Declarations and re-exports that begin a line; lists of names over several lines are joined. */
export const exported = (lines: ReadonlyArray<string>): ReadonlyArray<Entry> => {
  const entries: Array<Entry> = []
  let isComment = false
  for (const [index, line] of lines.entries()) {
    if (!isComment && line.startsWith("export")) {
      const declared = declaration.exec(line)?.[0]
      if (declared !== undefined) entries.push({ line: index + 1, text: declared.replace(/^export\s+/, "") })
      else if (other.test(line)) entries.push({ line: index + 1, text: joined(lines, index).replace(/^export\s+/, "") })
    }
    isComment = isInComment(line, isComment)
  }
  return entries
}

const isInComment = (line: string, before: boolean): boolean => {
  const open = before ? 0 : line.search(/^\s*\/\*/)
  return open !== -1 && line.indexOf("*/", before ? 0 : open + 2) === -1
}

const longest = 120

/** `export { a,⏎ b } from "c"` on one line. */
const joined = (lines: ReadonlyArray<string>, from: number): string => {
  let text = lines[from]!
  for (let at = from + 1; text.includes("{") && !text.includes("}") && at < lines.length && at < from + 100; at++) {
    text += ` ${lines[at]!.trim()}`
  }
  const short = text.replace(/\s+/g, " ").replace(/[;\s]+$/, "")
  return short.length > longest ? `${short.slice(0, longest)}...` : short
}

export const definitions = (lines: ReadonlyArray<string>): ReadonlyArray<Entry> =>
  lines.flatMap((line, index) => {
    const found = /^(?:async\s+)?(?:def|class)\s+\w+/.exec(line)?.[0]
    return found === undefined ? [] : [{ line: index + 1, text: found }]
  })
