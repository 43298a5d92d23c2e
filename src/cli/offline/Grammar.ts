/**
 * What a task asks of the offline model: one of five kinds of question, or nothing that it knows. Every word must have a part
 * in the reading, so that no condition is silently ignored. Pure.
 */
import type { Intent } from "./Intent.ts"
import * as ListPhrase from "./ListPhrase.ts"
import * as Phrase from "./Phrase.ts"
import * as RankPhrase from "./RankPhrase.ts"
import * as ReadPhrase from "./ReadPhrase.ts"
import * as SearchPhrase from "./SearchPhrase.ts"
import * as SumPhrase from "./SumPhrase.ts"

/** What the model can be asked, for people: the five kinds, with examples that it understands. */
export const examples: ReadonlyArray<readonly [kind: string, ...examples: ReadonlyArray<string>]> = [
  [
    "files by size",
    "which three files under src are the longest?",
    "the 5 largest .ts files",
    "the shortest file in test"
  ],
  [
    "text search",
    "where is TODO mentioned in src?",
    "which files contain 'foo bar'?",
    "how many times does Layer occur?"
  ],
  ["reading", "show README.md", "read lines 10-20 of src/index.ts", "outline src/index.ts"],
  ["arithmetic", "what is 12 * (3 + 4.5)?", "17% of 230", "2^10"],
  ["listing", "list all *.json files", "how many test files are there under test?"]
]

const longest = 2_000

/** `undefined` for a task that is none of the five, or longer than 2,000 characters. */
export const parse = (task: string): Intent | undefined => {
  if (task.length > longest) return undefined
  const phrase = Phrase.make(task)
  return SumPhrase.parse(phrase) ?? RankPhrase.parse(phrase.copy()) ?? ListPhrase.parse(phrase) ??
    ReadPhrase.parse(phrase) ?? SearchPhrase.parse(phrase)
}
