/**
 * Finds what a provider repeats in part of what it was sent: a word that says something by itself, as a token or an address does, and
 * many characters in a row, as of the beginning of a prompt.
 *
 * Does not own what was sent, nor how a provider quotes it: all texts here are without escapes (`Echo`).
 */

/** How many characters in a row are an excerpt: fewer are the same in what anybody writes. */
const shortestRun = 32

/** That many characters in a row have a whole block, where a text is cut into blocks of this size. */
const block = shortestRun / 2

/** In how many places of a provider's words a block is looked at: more have only lines of dashes, and the like. */
const mostPlaces = 8

const pattern = /[a-z\d][\w.@+/~-]{6,}[a-z\d]/gi

/** A word that no dictionary has: one with a digit, the address of a person, or a long number, but not a date. */
const isTelling = (word: string): boolean => /[\d@]/.test(word) && /[a-z]|\d{8}/i.test(word)

const wordsOf = (text: string): ReadonlyArray<string> => (text.match(pattern) ?? []).filter(isTelling)

/** What was sent as a word may be a part of one that is said, as of a path or of a name with points. */
const withParts = (word: string): ReadonlyArray<string> => [word, ...word.split(/[/~+.]/), ...word.split(/[/~+.@]/)]

/** The excerpts of these texts in what was said, in no order. The texts are looked through once for words, and each time for the rest. */
export const of = (texts: ReadonlyArray<string>): (said: string) => ReadonlyArray<string> => {
  const words = new Set(texts.flatMap(wordsOf))
  return (said) => [...wordsOf(said).flatMap(withParts).filter((word) => words.has(word)), ...runsOf(said, texts)]
}

type Run = readonly [from: number, to: number]

const runsOf = (said: string, texts: ReadonlyArray<string>): Iterable<string> => {
  const runs = new Set<string>()
  if (said.length < shortestRun) return runs
  const blocks = blocksOf(said)
  /** the run that each place is in, which is not looked for again where what is the same goes no further */
  const known: Array<Run | undefined> = Array.from({ length: said.length })
  for (const text of texts) {
    for (let at = 0; at + block <= text.length; at += block) {
      for (const place of blocks.get(text.slice(at, at + block)) ?? []) {
        const run = known[place]
        if (run !== undefined && !goesOn(said, run, text, at - place)) continue
        const [from, to] = around(said, place, text, at)
        if (to - from < shortestRun) continue
        runs.add(said.slice(from, to))
        known.fill([from, to], from, to)
      }
    }
  }
  return runs
}

/** Whether a text that is ahead of `said` may be the same also before or after this run. */
const goesOn = (said: string, [from, to]: Run, text: string, ahead: number): boolean =>
  (from > 0 && said[from - 1] === text[from - 1 + ahead]) || (to < said.length && said[to] === text[to + ahead])

/** Where each block of characters begins. */
const blocksOf = (said: string): ReadonlyMap<string, ReadonlyArray<number>> => {
  const blocks = new Map<string, Array<number>>()
  for (let place = 0; place + block <= said.length; place++) {
    const characters = said.slice(place, place + block)
    const places = blocks.get(characters)
    if (places === undefined) blocks.set(characters, [place])
    else if (places.length < mostPlaces) places.push(place)
  }
  return blocks
}

/** From where to where `said` is the same as a text, which it is in the block at these places. */
const around = (said: string, place: number, text: string, at: number): Run => {
  let before = 0
  while (before < place && before < at && said[place - before - 1] === text[at - before - 1]) before++
  let after = block
  while (place + after < said.length && said[place + after] === text[at + after]) after++
  return [place - before, place + after]
}
