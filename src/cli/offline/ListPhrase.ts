/** "list all *.json files", "how many test files are there under test?": which files there are. Pure. */
import type { List } from "./Intent.ts"
import type { Phrase } from "./Phrase.ts"
import { globOf, isGlob, kindOf, placeOf, takeFiles, takePlace } from "./WhichFiles.ts"

const fillers = new Set(
  ("list ls show find print give which what are is the all there every any do does we i you have has exist name names " +
    "of available please count me paths path here").split(" ")
)
const counting = /(?<=^|\s)(?:how many|count(?: the| all)?|(?:the )?(?:total )?number of)(?=\s|$)/i
const bare = /^(?:list|ls|dir)(?:\s+(?:the |all )?(?<what>\S+|.+ (?:folder|directory)))?$/i
const whereIs = /^(?:where is|find|locate|is there|where are)\s+(?:the |a |any )?(?:file )?(?<name>\S+)(?: file)?$/i
const fileName = /^[^/]*\.[a-z]\w{0,7}$/i

/** `undefined` unless every word has a part in it. */
export const parse = (phrase: Phrase): List | undefined => described(phrase.copy()) ?? named(phrase) ?? bareList(phrase)

/** "list src", "ls package.json". */
const bareList = (phrase: Phrase): List | undefined => {
  const found = bare.exec(phrase.words)
  if (found === null) return undefined
  const what = found.groups?.what
  if (what !== undefined && /^(?:folders|directories|dirs)$/i.test(what)) return undefined
  if (what === undefined || /^(?:everything|all)$/i.test(what)) return list("paths", { folders: [] })
  const plain = phrase.plain(what)
  if (fileName.test(plain)) return list("paths", { folders: [], pattern: globOf(plain) })
  const where = placeOf(what, phrase)
  return where === undefined ? undefined : list("paths", where)
}

/** "where is package.json?": a name with an extension. */
const named = (phrase: Phrase): List | undefined => {
  const name = whereIs.exec(phrase.words)?.groups?.name
  if (name === undefined || phrase.quotedBy(name) !== undefined || !isFileName(name, phrase)) return undefined
  return list("paths", { folders: [], pattern: globOf(name) })
}

const isFileName = (name: string, phrase: Phrase): boolean =>
  isGlob(name) || (fileName.test(name) && kindOf(name.slice(name.lastIndexOf(".") + 1), phrase) !== undefined)

const described = (phrase: Phrase): List | undefined => {
  const isCount = phrase.take(counting) !== undefined
  const files = takeFiles(phrase)
  const where = takePlace(phrase)
  if (files === undefined || where === undefined || !phrase.isOnly(fillers)) return undefined
  if (where.pattern !== undefined && files.pattern !== undefined) return undefined
  return list(isCount ? "count" : "paths", { ...where, ...files })
}

const list = (show: List["show"], where: List["where"]): List => ({ _tag: "List", show, where })
