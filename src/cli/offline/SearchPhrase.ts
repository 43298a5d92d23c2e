/** "where is TODO mentioned?", "which files contain 'foo bar'?": where a text is. Pure. */
import type { Search, Where } from "./Intent.ts"
import { numberPattern, type Phrase } from "./Phrase.ts"
import { isGlob, kindOf, placeOf } from "./WhichFiles.ts"

const found =
  "(?:used|mentioned|defined|declared|referenced|called|imported|exported|found|needed|set|handled|implemented|documented|" +
  "occur(?:s|ring)?|appear(?:s|ing)?|come up|show up|located)"
const contain =
  "(?:contain(?:s|ing)?|mention(?:s|ing)?|use(?:s)?|using|include(?:s)?|including|have|has|having|import(?:s|ing)?|reference(?:s)?|call(?:s|ing)?|with)"
const uses = "(?:uses?|usages?|occurrences?|mentions?|references?|instances?|lines?)"
/** Flags of grep that change nothing here; others would, and are not accepted. */
const grep = "grep(?:\\s+-[rRnHF]+)*(?!\\s+-)"
const verb = `(?:find|search(?: for)?|${grep}(?: for)?|look for|locate|show)`
const place = "(?:\\s+(?:in|under|below|within|inside|across|throughout|of|from)\\s+(?<place>.+))?"
const anywhere = "\\s+(?:any|some|every)where"

interface Form {
  readonly pattern: RegExp
  readonly show: Search["show"]
}

const form = (source: string, show: Search["show"], flags = "i"): Form => ({
  pattern: new RegExp(`^${source}$`, flags),
  show
})

const files = (start: string, show: Search["show"]): Form =>
  form(
    `${start}(?:\\s+(?<kind>\\S+))?\\s+files?(?:\\s+(?:in|under|below)\\s+(?<place>\\S+))?\\s+(?:that |which )?${contain}\\s+(?<text>.+)`,
    show
  )

/** Searches for lines; but "how many lines has a.md" asks how long that is. */
const lines = (start: string, show: Search["show"]): Form =>
  form(
    `${start}(?:\\s+(?:all|the))*\\s+(?:line|lines(?!\\s+has\\s))(?:\\s+(?:in|of|under|below)\\s+(?<place>\\S+))?\\s+(?:that |which )?${contain}\\s+(?<text>.+)`,
    show
  )

/** In the order in which they are tried. */
const forms: ReadonlyArray<Form> = [
  form(
    `where (?:do|does|did) (?:we|i|you|they|it|(?:the |this |our )?(?:code|project|repository|repo)) ` +
      `(?:use|call|import|mention|define|declare|reference|need|have|set)s?\\s+(?<text>.+)`,
    "lines"
  ),
  form(`${grep}\\s+(?<text>\\S+)\\s+(?<place>(?!in\\s|under\\s)\\S+)`, "lines"),
  lines("(?:how many|number of|count)(?: of)?", "occurrences"),
  lines("(?:which|what|list|show|find|print|name)(?: of)?", "lines"),
  files("(?:how many|number of)(?: of the)?", "fileCount"),
  files(
    "(?:in )?(?:which|what|list|list all|list the|find|find all|find the|show|show all|show the|name|name all)(?: of the)?",
    "files"
  ),
  form(`(?:all |the )?files?\\s+(?:that |which )?${contain}\\s+(?<text>.+)`, "files"),
  form(
    `(?:do|does|are there|is there)\\s+(?:any|some|a)\\s+files?\\s+(?:that |which )?${contain}\\s+(?<text>.+)`,
    "files"
  ),
  form(
    `in (?:which|what) files?\\s+(?:in|under|below)\\s+(?<place>\\S+)\\s+(?:is|are|does|do)\\s+(?<text>.+?)\\s+${found}`,
    "files"
  ),
  form(`where\\s+(?:in|under|below)\\s+(?<place>\\S+)\\s+(?:is|are|does|do)\\s+(?<text>.+?)(?:\\s+${found})?`, "lines"),
  form(`in (?:which|what) files?\\s+(?:is|are|does|do)\\s+(?<text>.+?)\\s+${found}${place}`, "files"),
  form(
    `(?:how many times|how often)\\s+(?:does|do|is|are|has|have|did)\\s+(?<text>.+?)\\s+(?:been )?${found}(?:${anywhere})?${place}`,
    "occurrences"
  ),
  form(
    `(?:how many|count(?: the| all)?|number of)\\s+(?:uses|usages|occurrences|mentions|references|instances)\\s+(?:of|to)\\s+(?<text>.+?)(?:\\s+are(?: there)?)?${place}`,
    "occurrences"
  ),
  form(
    `(?:[Hh]ow many|[Cc]ount(?: the| all)?)\\s+(?<text>[\uE001-\uE064]|[A-Z_]{2,})s?(?:\\s+(?:are there|are|is))?${place}`,
    "occurrences",
    ""
  ),
  form(
    `(?:where|on (?:which|what) lines?)\\s+(?:is|are|do we|do i|does|do|was|can i find)\\s+(?<text>.+?)(?:\\s+(?:being\\s+)?${found})?${place}`,
    "lines"
  ),
  form(`(?:does|do|is|are)\\s+(?<text>.+?)\\s+${found}(?:${anywhere})?${place}`, "lines"),
  form(`search\\s+(?<place>\\S+)\\s+for\\s+(?<text>.+)`, "lines"),
  form(`${verb}\\s+(?:all\\s+|the\\s+|all the\\s+)?${uses}\\s+(?:of|to|with|containing)\\s+(?<text>.+)`, "lines"),
  form(`${verb}\\s+(?<text>.+)`, "lines")
]

/** `undefined` unless the words ask for a text. */
export const parse = (phrase: Phrase): Search | undefined => {
  for (const { pattern, show } of forms) {
    const groups = pattern.exec(phrase.words)?.groups
    if (groups === undefined) continue
    const search = read(phrase, show, groups)
    if (search !== undefined) return search
  }
  return undefined
}

const read = (
  phrase: Phrase,
  show: Search["show"],
  groups: { readonly [name: string]: string | undefined }
): Search | undefined => {
  const kind = groups.kind === undefined || isDeterminer(groups.kind) ? undefined : kindOf(groups.kind, phrase)
  if (kind === undefined && groups.kind !== undefined && !isDeterminer(groups.kind)) return undefined
  const split = groups.place === undefined ? splitPlace(groups.text ?? "", phrase) : undefined
  const text = subject(split?.text ?? groups.text ?? "", phrase)
  const where = groups.place === undefined ? split?.where ?? { folders: [] } : placeOf(groups.place, phrase)
  if (text === "" || where === undefined || (where.pattern !== undefined && kind !== undefined)) return undefined
  return { _tag: "Search", text, show, where: kind === undefined ? where : { ...where, pattern: kind } }
}

const isDeterminer = (word: string): boolean => /^(?:all|the|of|any|other)$/i.test(word)

const last = /^(.+)\s+(?:in|under|below|within|inside|across|throughout)\s+(.+)$/i
const single =
  /^(?:(?:the|all|this|my)\s+)*(?:(?:folder|directory|dir|file)\s+)?\S+(?:\s+(?:folder|directory|dir|files?))?$/i

/** "foo in src": the last "in" with a place of one word after it; "foo in the ts files under src" has two. */
const splitPlace = (
  words: string,
  phrase: Phrase
): { readonly text: string; readonly where: Where | undefined } | undefined => {
  const [, text, place] = last.exec(words) ?? []
  if (text === undefined || place === undefined || !single.test(place)) return undefined
  const where = placeOf(place.replace(/^(?:the\s+)?file\s+|\s+file$/i, ""), phrase)
  const [, shorter, kind] = inKind.exec(text) ?? []
  const pattern = kind === undefined ? undefined : kindOf(kind, phrase)
  if (where === undefined || where.pattern !== undefined || shorter === undefined || pattern === undefined) {
    return { text, where }
  }
  return { text: shorter, where: { ...where, pattern } }
}

const inKind = /^(.+)\s+(?:in|across|of)\s+(?:(?:the|all)\s+)*(\S+)\s+files?$/i

const described =
  /^(?:the\s+)?(?:exact\s+)?(?:word|text|string|term|symbol|name|phrase|identifier|function|class|variable|type|method|constant|interface)s?\s+(\S+)$/i
const describedAfter = /^the\s+(\S+)\s+(?:function|class|variable|type|method|constant|interface|symbol)$/i

/** Words that are a condition and not part of an unquoted text: a text that contains them must be quoted. */
const condition = /\s(?:and|or|nor|but)\s|\bignor(?:e|ing) (?:the )?case\b|\scase[- ]insensitive/i

/** Several words that begin like this describe what to find, and are not the text itself. */
const vague =
  /^(?:the|an?|out|me|us|some|which|what|how|why|where|who|it|this|that|these|those|my|our|its|more|most|everything|something)\s/i

/** Words that ask for lines or files, not for a text. */
const things = new RegExp(`^(?:lines? (?:that|which|with|where)\\s.*|${numberPattern} (?:files|lines))$`, "i")

const atEnd = new RegExp(`${anywhere}$`, "i")

/** The text itself, without the word for its kind. Globs and empty words are not texts. */
const subject = (all: string, phrase: Phrase): string => {
  const words = all.replace(/^(?:all the|all of the|all|every|each|any)\s+/i, "").replace(atEnd, "")
  const bare = described.exec(words)?.[1] ?? describedAfter.exec(words)?.[1] ?? words
  const quoted = phrase.quotedBy(bare)
  if (quoted !== undefined) return quoted
  if (vague.test(bare) || condition.test(bare) || things.test(bare)) return ""
  const plural = /^([A-Z_]{2,})s$/.exec(bare)
  if (plural !== null) return plural[1]!
  return isGlob(bare) && !/\s/.test(bare) && /^\*|\*$/.test(bare)
    ? ""
    : phrase.plain(bare.replace(/^the\s+(?=\S+$)/i, ""))
}
