/** Answers what is in a file, from `read_file`; a name that is not a path is searched with `list_files`. */
import * as AnswerList from "./AnswerList.ts"
import * as Files from "./Files.ts"
import type { Lines, Measure, Read } from "./Intent.ts"
import type { Plan } from "./Plan.ts"
import { literal } from "./WhichFiles.ts"
import * as Wording from "./Wording.ts"

const mostLines = 1_000
const linesPerPage = 500
/** Each page is a turn of the run. */
const mostPages = 15

/** Lines read of a file: `to` is the last of them, `total` the number of lines in the whole file. */
interface Text {
  readonly path: string
  readonly text: string
  readonly from: number
  readonly to: number
  readonly total: number
  readonly cutLines: ReadonlyArray<number>
}

export function* plan({ lines, path: asked }: Read): Plan<string> {
  return yield* located(asked, (path) => show(path, lines, path === asked))
}

function* show(path: string, lines: Lines | undefined, isAsked: boolean): Plan<string | Files.Refused> {
  let range = lines !== undefined && "from" in lines ? lines : { from: 1 }
  if (lines !== undefined && "last" in lines) {
    const first = yield* Files.read(path, 1, 1)
    if (first._tag !== "Got") return first._tag === "Refused" ? first : Files.tooLong
    range = { from: Math.max(1, first.value.lines - lines.last + 1) }
  }
  const read = yield* readLines(path, range.from, "to" in range ? range.to! : Infinity, mostLines)
  if ("_tag" in read) return read
  if (read.total === 0) return `${Wording.name(read.path)} is empty.`
  if (read.text.trim() === "" && read.cutLines.length === 0) {
    return `${Wording.name(read.path)}, ${spanOf(read)}: nothing but blanks.`
  }
  const isWhole = read.from === 1 && read.to >= read.total
  const wanted = Math.min("to" in range ? range.to! : Infinity, read.total)
  return Wording.lines(
    isWhole ? isAsked ? "" : `${Wording.name(read.path)}:` : `${Wording.name(read.path)}, ${spanOf(read)}:`,
    read.text.replace(/\r?\n$/, ""),
    read.cutLines.map((line) => `(Line ${line} is longer than what can be shown.)`),
    read.to < wanted
      ? `... go on with: read lines ${read.to + 1}-${Math.min(wanted, read.to + mostLines)} of ${path}`
      : ""
  )
}

/** "lines 3-5 of 20" */
const spanOf = ({ from, to, total }: Text): string =>
  from === to ? `line ${from} of ${total}` : `lines ${from}-${to} of ${total}`

/** Lines of a file, page by page: all from `from` to `to`, but at most `most` and what a dozen pages hold. */
export function* readLines(path: string, from: number, to: number, most: number): Plan<Text | Files.Refused> {
  const last = Math.min(to, from + most - 1)
  const cutLines: Array<number> = []
  let text = ""
  let [at, size, total, name] = [from, linesPerPage, Infinity, path]
  const sofar = (to: number): Text => ({ path: name, text, from, to, total, cutLines })
  for (let pages = 1;; pages++) {
    const page = yield* Files.read(path, at, Math.min(size, last - at + 1))
    if (page._tag === "Refused") {
      return page.reason === "PastEnd" && at > from
        ? { ...sofar(at - 1), total: at - 1 }
        : page
    }
    if (page._tag === "Cut" && size > 1) size = Math.ceil(size / 4)
    else if (page._tag === "Cut") {
      cutLines.push(at++)
      text += "\n"
    } else {
      ;({ lines: total, path: name } = page.value)
      text += page.value.text
      at = page.value.to + 1
      // A page that stops within a line has nothing of the next lines.
      if (page.value.text !== "" && !page.value.text.endsWith("\n") && page.value.to < total) {
        cutLines.push(page.value.to)
        text += "\n"
      }
    }
    if (at > Math.min(last, total) || pages === mostPages) return sofar(at - 1)
  }
}

export function* measure({ path }: Measure): Plan<string> {
  const exact = yield* Files.list({ pattern: Files.anchored(path) }, 2)
  if (exact._tag === "Refused") return Wording.refusal(exact, undefined)
  const found = exact.value.total > 0 ? exact : yield* Files.list({ pattern: literal(baseName(path)) }, 10)
  if (found._tag === "Refused") return Wording.refusal(found, undefined)
  return found.value.total === 0 ? missing(path) : Wording.lines(
    found.value.entries.map(({ bytes, lines, path }) =>
      `${Wording.name(path)} has ${lines === null ? "no lines, it is binary" : Wording.count(lines, "line")}` +
      ` (${Wording.count(bytes, "byte")}).`
    )
  )
}

const baseName = (path: string): string => path.replace(/\/+$/, "").replace(/^.*\//, "")
const missing = (path: string): string => `There is no file ${JSON.stringify(path)} below the root folder.`

/** Uses a path; lists a folder, and takes a path that does not exist for the name of a file anywhere. */
export function* located(path: string, use: (path: string) => Plan<string | Files.Refused>): Plan<string> {
  const answer = yield* use(path)
  if (typeof answer === "string") return answer
  const { message, reason } = answer
  if (reason === "NotAFile" && message.includes("is a folder")) {
    return yield* AnswerList.plan({ _tag: "List", show: "paths", where: { folders: [path] } })
  }
  if (reason !== "NotFound") return message
  const named = yield* Files.list({ pattern: literal(baseName(path)) }, 10)
  if (named._tag === "Refused") return named.message
  const [first, ...others] = named.value.entries
  if (first === undefined) return missing(path)
  if (others.length > 0) {
    return Wording.lines(
      missing(path),
      `${named.value.total} files have that name, which one do you mean?`,
      named.value.entries.map((entry) => Wording.name(entry.path))
    )
  }
  const second = yield* use(first.path)
  return typeof second === "string" ? second : second.message
}
