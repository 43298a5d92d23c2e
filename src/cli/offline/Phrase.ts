/**
 * A task as words: without politeness and closing marks, each quoted text one word. Pure.
 * Does not own what the words mean.
 */

/** In `words`, a quoted text is one character of the private use area, from this one on. */
const firstQuote = 0xe001
const mostQuotes = 100

const quotes =
  /(?<=^|[\s(])(?:"([^"]+)"|'([^']+)'|`([^`]+)`|“([^”]+)”|‘([^’]+)’|«([^»]+)»|„([^“”]+)[“”])(?=$|[\s?!.,;:)])/g

const politeness =
  /^(?:please|now|hey|hi|hello|ok|okay|and|so|can you|could you|would you|will you|i want to know|i would like to know|tell me|do you know)[,:]?\s+/i

/** "in src, which file ..." is "which file ... in src". */
const placeFirst =
  /^((?:in|under|below|within|inside)\s+(?:the\s+)?[^\s,:]+(?:\s+(?:folder|directory|files?))?)\s*[,:]\s+(.+)$/i

/** Words, and what was quoted in them. */
export class Phrase {
  words: string
  readonly quoted: ReadonlyArray<string>

  constructor(words: string, quoted: ReadonlyArray<string>) {
    this.words = words
    this.quoted = quoted
  }

  /** Takes the first match out of the words. */
  take(pattern: RegExp): RegExpExecArray | undefined {
    const found = pattern.exec(this.words)
    if (found === null) return undefined
    const { index } = found
    this.words = collapse(`${this.words.slice(0, index)} ${this.words.slice(index + found[0].length)}`)
    return found
  }

  /** The same words, to be taken apart in another way. */
  copy(): Phrase {
    return new Phrase(this.words, this.quoted)
  }

  /** Whether no word is left but these. */
  isOnly(fillers: ReadonlySet<string>): boolean {
    return this.words === "" ||
      this.words.toLowerCase().split(/[\s,]+/).every((word) => word === "" || fillers.has(word))
  }

  /** What a single quoted word quotes; `undefined` for any other text. */
  quotedBy(text: string): string | undefined {
    return text.length === 1 ? this.quoted[text.charCodeAt(0) - firstQuote] : undefined
  }

  /** A text with its quotations as they were, without the quotation marks. */
  plain(text: string): string {
    return text.replace(/[\uE001-\uE064]/g, (mark) => this.quotedBy(mark) ?? mark)
  }
}

export const make = (task: string): Phrase => {
  const quoted: Array<string> = []
  const marked = task.replace(/[\uE000-\uF8FF]/g, "\uFFFD").replace(quotes, (whole, ...groups) => {
    const text = groups.slice(0, 7).find((group): group is string => typeof group === "string")
    if (text === undefined || quoted.length === mostQuotes) return whole
    return String.fromCharCode(firstQuote + quoted.push(text) - 1)
  })
  let words = collapse(marked)
  for (let before = ""; before !== words;) {
    before = words
    words = words.replace(politeness, "").replace(/[\s,]+please$/i, "").replace(/\s*\?+$/, "")
      .replace(/(?<=[\p{L}\uE001-\uE064])[!.]+$/u, "").replace(/(?<=[\d)%])\.$/, "")
      .replace(/^(show|give|list|print|find|read|get)\s+(?:me|us)\s+/i, "$1 ")
      .replace(/^what's\s/i, "what is ").replace(/^where's\s/i, "where is ")
      .replace(placeFirst, "$2 $1")
  }
  return new Phrase(words, quoted)
}

const collapse = (text: string): string => text.replace(/\s+/g, " ").trim()

const numbers =
  "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty"
    .split(" ")

/** A number in digits or, up to twenty, as a word. */
export const numberPattern = `(?:\\d+|${numbers.slice(1).join("|")})`

export const toNumber = (text: string): number => {
  const at = numbers.indexOf(text.toLowerCase())
  return at === -1 ? Number(text) : at
}
