/** "which three files under src are the longest?": the files with the most or the fewest lines or bytes. Pure. */
import type { Rank } from "./Intent.ts"
import { numberPattern, type Phrase, toNumber } from "./Phrase.ts"
import { takeFiles, takePlace } from "./WhichFiles.ts"

const superlative =
  /(?<=^|\s)(longest|largest|biggest|heaviest|shortest|smallest|(most|fewest|least|highest number of|lowest number of) (lines|bytes))(?: of code)?(?=[\s,]|$)/i
const measure =
  /(?<=^|\s)(?:(?:by|in|in terms of|measured in|sorted by|according to)\s+(?:the |their )?)(?:number of )?(lines?(?: count| of code)?|length|file ?size|size|bytes)(?=\s|$)/i
const howMuch = /^how (?:many (?:lines|bytes)|long|big|large) (?:is|are|does|do|has|have)(?=\s)/i
const top = /(?<=^|\s)(?:top|first)(?=\s|$)/i
const count = new RegExp(`(?<=^|\\s)${numberPattern}(?=\\s|$)`, "i")
const fillers = new Set(
  ("which what are is the list show find name names give print tell me top with have has of there all that do does " +
    "i we you it in here").split(" ")
)
const most = 1_000
const some = 5

/** `undefined` unless every word has a part in it. */
export const parse = (phrase: Phrase): Rank | undefined => {
  const found = phrase.take(superlative)
  if (found !== undefined) phrase.take(howMuch)
  const measured = phrase.take(measure)?.[1]?.toLowerCase()
  const isTop = found === undefined && measured !== undefined && phrase.take(top) !== undefined
  if (found === undefined && !isTop) return undefined
  const word = found?.[1]?.toLowerCase() ?? "most"
  const isOne = /(?<=^|\s)(?:file|is)(?=\s|$)/i.test(phrase.words)
  const isMany = /(?<=^|\s)files(?=\s|$)/i.test(phrase.words)
  const files = takeFiles(phrase) ?? {}
  const where = takePlace(phrase)
  const number = phrase.take(count)?.[0]
  const asked = number === undefined ? isMany && !isOne ? some : 1 : toNumber(number)
  if (where === undefined || asked < 1 || asked > most || !phrase.isOnly(fillers)) return undefined
  if (where.pattern !== undefined && files.pattern !== undefined) return undefined
  return {
    _tag: "Rank",
    by: unitOf(measured ?? found?.[3]?.toLowerCase() ?? word),
    order: /^(shortest|smallest|fewest|least|lowest)/.test(word) ? "fewest" : "most",
    count: asked,
    where: { ...where, ...files }
  }
}

const unitOf = (word: string): "lines" | "bytes" => /^(line|length|longest|shortest)/.test(word) ? "lines" : "bytes"
