/**
 * Owns what replacing a part of a text means: exactly that part, once unless told otherwise, with the text's own line
 * endings. Pure.
 */
import * as Result from "effect/Result"
import * as FileError from "../files/FileError.ts"
import * as ChangeError from "./ChangeError.ts"
import * as NearestLines from "./NearestLines.ts"

/** What is asked for; `path` is the name in failures. */
interface Request {
  readonly path: string
  readonly oldText: string
  readonly newText: string
  readonly all?: boolean | undefined
}

/** The whole new text. */
interface Replaced {
  readonly text: string
  readonly replacements: number
}

const byteOrderMark = "\ufeff"
const mostPlaces = 100
const mostShown = 20

/**
 * Replaces `oldText`. If all lines of the text end alike, the line breaks of both parts become that ending first, because a
 * model cannot see which it is; in any other text they stay as they are. A byte order mark stays where it is.
 */
export const replace = (text: string, request: Request): Result.Result<Replaced, ChangeError.ChangeError> => {
  const mark = text.startsWith(byteOrderMark) ? byteOrderMark : ""
  const body = text.slice(mark.length)
  const ending = endingOf(body)
  const inEnding = (part: string) => ending === undefined ? part : part.replace(/\r?\n/g, ending)
  const [oldText, newText] = [inEnding(request.oldText), inEnding(request.newText)]
  if (oldText === "") return fail("TextNotFound", "oldText is empty: give the text to replace, or use write_file.")
  if (oldText === newText) return fail("NothingToChange", "oldText and newText are the same: nothing would change.")
  const at = body.indexOf(oldText)
  if (at === -1) return notFound(body, oldText, request.path)
  if (request.all === true) {
    const parts = body.split(oldText)
    return Result.succeed({ text: mark + parts.join(newText), replacements: parts.length - 1 })
  }
  if (body.includes(oldText, at + 1)) return notUnique(body, oldText, request.path)
  return Result.succeed({
    text: mark + body.slice(0, at) + newText + body.slice(at + oldText.length),
    replacements: 1
  })
}

/** How the lines of a text end; `undefined` when they end differently, or there is no line ending. */
const endingOf = (text: string): string | undefined => {
  const [first, ...rest] = new Set(text.match(/\r?\n/g))
  return rest.length === 0 ? first : undefined
}

const fail = (reason: ChangeError.ChangeError["reason"], message: string) =>
  Result.fail(new ChangeError.ChangeError({ reason, message }))

const notFound = (body: string, oldText: string, path: string) => {
  const hint = `oldText is not in ${FileError.quote(path)}: `
  const nearest = NearestLines.find(body, oldText)
  if (nearest === undefined) return fail("TextNotFound", `${hint}read the file again and copy the text from it.`)
  const { isWhole, line, matched } = nearest
  const shown = (number: number) => FileError.quote(body.split("\n")[number - 1] ?? "")
  return fail(
    "TextNotFound",
    isWhole
      ? `${hint}only white space differs from line ${line} on, which is ${shown(line)}. Copy the text exactly.`
      : `${hint}${matched === 1 ? "its first line is" : `its first ${matched} lines are`} at line ${line}, ` +
        `but line ${line + matched} is ${shown(line + matched)}. Read the file again.`
  )
}

const notUnique = (body: string, oldText: string, path: string) => {
  const lines: Array<number> = []
  let [line, counted] = [1, 0]
  for (let at = body.indexOf(oldText); at !== -1 && lines.length <= mostPlaces; at = body.indexOf(oldText, at + 1)) {
    for (; counted < at; counted++) if (body[counted] === "\n") line++
    lines.push(line)
  }
  const times = lines.length > mostPlaces ? `more than ${mostPlaces}` : String(lines.length)
  const shown = [...new Set(lines)].slice(0, mostShown)
  return fail(
    "TextNotUnique",
    `oldText is ${times} times in ${FileError.quote(path)}, at line${shown.length === 1 ? "" : "s"} ${
      shown.join(", ")
    }` +
      `${lines.at(-1)! > shown.at(-1)! ? " and further on" : ""}: ` +
      "add what is around it, or set all to replace every one."
  )
}
