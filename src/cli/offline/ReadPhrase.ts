/** "show README.md", "read lines 10-20 of src/index.ts", "outline src/Agent.ts", "how long is a.ts?". Pure. */
import type { Lines, Measure, Outline, Read } from "./Intent.ts"
import { numberPattern, type Phrase, toNumber } from "./Phrase.ts"
import { isGlob } from "./WhichFiles.ts"

const verb = "(?:show|read|print|cat|open|display|view|output|see|get)"
const of = "(?:of|from|in)"
const dash = "\\s*(?:-|–|—|to|through|until)\\s*"
const form = (source: string) => new RegExp(`^${source}$`, "i")

/** To the end of the file. */
const start = "(?:from|starting (?:at|from|with)) (?:the )?line"

const outlines = [
  form(
    `(?:${verb} |give |list |make )?(?:an? |the )?(?:outline|structure|table of contents|headings?|sections|exports|exported declarations|exported names|declarations|symbols)(?: ${of}| for)? (?<path>.+)`
  ),
  form(`what does (?<path>.+) (?:export|declare|define)`),
  form(
    `what (?:are|is) the (?:outline|structure|headings|sections|exports|exported declarations|declarations|symbols) ${of} (?<path>.+)`
  ),
  form(
    `(?:what|which) (?:headings|sections|exports|declarations) (?:does|has|are in|are there in) (?<path>.+?)(?: have)?`
  )
]

const measures = [
  form(
    `how many (?:lines(?: of code)?|bytes) (?:does|has|is|are there in|are in|in|of) (?<path>.+?)(?: have| has| long| contain)?`
  ),
  form(`how (?:long|big|large) is (?<path>.+)`),
  form(`(?:what is )?(?:the )?(?:size|length|number of (?:lines(?: of code)?|bytes)|line count) (?:of|in) (?<path>.+)`),
  form(`count (?:the )?lines(?: of code)? ${of} (?<path>.+)`)
]

const reads = [
  form(`(?:${verb} )?${start} (?<start>\\d+)(?: on(?:wards?)?)? ${of} (?<path>.+)`),
  form(`${verb} (?<path>.+?),? ${start} (?<start>\\d+)(?: on(?:wards?)?)?`),
  form(`(?:${verb} )?(?:the )?lines between (?:lines? )?(?<from>\\d+) and (?:line )?(?<to>\\d+) ${of} (?<path>.+)`),
  form(`(?:${verb} )?(?:the )?(?:from )?lines? (?<from>\\d+)(?:${dash}(?:line )?(?<to>\\d+))? ${of} (?<path>.+)`),
  form(`what (?:is|are) (?:in |on )?lines? (?<from>\\d+)(?:${dash}(?<to>\\d+))? ${of} (?<path>.+)`),
  form(
    `(?:${verb} |what (?:is|are) )?(?:the )?(?<end>first|top|last) (?:(?<count>${numberPattern}) )?(?<unit>lines?) ${of} (?<path>.+)`
  ),
  form(`${verb} (?<path>.+?)(?: from)?,? lines? (?<from>\\d+)(?:${dash}(?:line )?(?<to>\\d+))?`),
  form(`${verb} (?:all )?(?:the )?lines ${of} (?<path>\\S+\\.\\w{1,8}|[\uE001-\uE064])`),
  form(`${verb} (?<path>\\S+):(?<from>\\d+)(?:-(?<to>\\d+))?`),
  form(`${verb} (?<path>.+)`),
  form("what is (?:written )?(?:in|inside) (?<path>.+)"),
  form("what does (?<path>.+) (?:contain|say)")
]

/** `undefined` unless the words name one file and what to show of it. */
export const parse = (phrase: Phrase): Read | Measure | Outline | undefined => {
  const outline = first(outlines, phrase)
  if (outline !== undefined) return { _tag: "Outline", path: outline.path }
  const measure = first(measures, phrase)
  if (measure !== undefined) return { _tag: "Measure", path: measure.path }
  const read = first(reads, phrase)
  if (read === undefined) return undefined
  const lines = linesOf(read)
  if (lines === "none") return undefined
  return { _tag: "Read", path: read.path, ...(lines === undefined ? {} : { lines }) }
}

type Groups = { readonly path: string; readonly [name: string]: string | undefined }

const first = (forms: ReadonlyArray<RegExp>, phrase: Phrase): Groups | undefined => {
  for (const pattern of forms) {
    const groups = pattern.exec(phrase.words)?.groups
    const path = groups?.path === undefined ? undefined : pathOf(groups.path, phrase)
    if (path !== undefined) return { ...groups, path }
  }
  return undefined
}

const decoration =
  /^(?:(?:the )?(?:whole |entire |full |complete )?(?:contents?|text) of )?(?:the )?(?:(?:whole|entire|full|complete) )?(?:file )?|(?: file)$/gi

/** One word or quoted text; several words when the last has an extension. */
const pathOf = (words: string, phrase: Phrase): string | undefined => {
  const quoted = phrase.quotedBy(words)
  if (quoted !== undefined) return quoted
  const bare = words.replace(decoration, "")
  const inner = phrase.quotedBy(bare)
  if (inner !== undefined) return inner
  if (/\blines?\b.*\s(?:of|from|in)\s/i.test(bare)) return undefined
  if (bare === "" || isGlob(bare) || /(?:^| )files?(?: |$)/i.test(bare)) return undefined
  return /\s/.test(bare) && !/\S\.\w{1,8}$/.test(bare) ? undefined : phrase.plain(bare)
}

const linesOf = ({ count, end, from, start, to, unit }: Groups): Lines | undefined | "none" => {
  if (start !== undefined) return Number(start) < 1 ? "none" : { from: Number(start) }
  if (end !== undefined) {
    const number = toNumber(count ?? (unit?.toLowerCase() === "line" ? "1" : "10"))
    return number < 1 ? "none" : end.toLowerCase() === "last" ? { last: number } : { from: 1, to: number }
  }
  if (from === undefined) return undefined
  const [first, last] = [Number(from), Number(to ?? from)]
  return first < 1 || last < first ? "none" : { from: first, to: last }
}
