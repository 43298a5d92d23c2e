/** "what is 12 * (3 + 4.5)?", "17% of 230": a sum as an expression. Pure; does not own its value. */
import type { Calculate } from "./Intent.ts"
import { numberPattern, type Phrase, toNumber } from "./Phrase.ts"

const asking =
  /^(?:(?:(?:what|how much) (?:is|are|does|do|makes?|equals?)|calculate|compute|evaluate|work out|solve|(?:the )?(?:value|result) of|=)\s*)+/i
/** A number and nothing else, so that a sum in words has one reading. */
const number = "(-?[\\d.,]+%?)"
const inWords = (words: string) => new RegExp(`^(?:the )?${words}$`, "i")
const spoken: ReadonlyArray<readonly [RegExp, string]> = [
  [/\bplus\b/gi, "+"],
  [/\bminus\b/gi, "-"],
  [/\b(?:times|multiplied by)\b/gi, "*"],
  [/(?<=\d)\s*x\s*(?=\d)/gi, " * "],
  [/\b(?:divided by|over)\b/gi, "/"],
  [/\b(?:to the power of|to the power|raised to)\b/gi, "^"],
  [/\bsquared\b/gi, "^2"],
  [/\bcubed\b/gi, "^3"],
  [/\b(?:percent|per cent)\b/gi, "%"],
  [/\bmodulo\b/gi, "mod"],
  [inWords(`(?:sum of|add) ${number} (?:and|to) ${number}`), "$1 + $2"],
  [inWords(`(?:product of|multiply) ${number} (?:and|by|with) ${number}`), "$1 * $2"],
  [inWords(`difference (?:between|of) ${number} and ${number}`), "$1 - $2"],
  [inWords(`subtract ${number} from ${number}`), "$2 - $1"],
  [inWords(`divide ${number} by ${number}`), "$1 / $2"],
  [inWords(`half of ${number}`), "$1 / 2"],
  [inWords("square root of ([\\d.,]+)"), "$1 ^ 0.5"]
]
const numberWord = new RegExp(`\\b${numberPattern}\\b`, "gi")
const arithmetic = /^(?=.*\d)(?:[\d\s.,+\-*/^%()×·÷−–]|\d[eE][+-]?\d|\bmod\b|\bof\b)+$/i

/** Only numbers, signs and their names, perhaps in a question. */
export const parse = (phrase: Phrase): Calculate | undefined => {
  const whole = phrase.plain(phrase.words).replace(/\s*(?:=|equals?|is)\s*$/i, "")
  const question = asking.exec(whole)
  const numbers = whole.slice(question?.[0].length ?? 0).replace(
    numberWord,
    (word) => /\d/.test(word) ? word : `${toNumber(word)}`
  )
  const sum = spoken.reduce((text, [word, sign]) => text.replace(word, sign), numbers)
  const isAsked = question !== null || /[-+*/^%×·÷−]|mod|of/.test(sum)
  return isAsked && arithmetic.test(sum)
    ? { _tag: "Calculate", expression: sum.replace(/\s+/g, " ").trim() }
    : undefined
}
