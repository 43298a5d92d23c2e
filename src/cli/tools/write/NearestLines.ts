/** Owns where a text that is not in a file nearly occurs: by lines, ignoring white space. Pure. */

/** `line` is 1-based. */
interface Nearest {
  readonly line: number
  /** How many lines of the text, from its first that is not blank, match there. */
  readonly matched: number
  /** Whether all of its lines match, so that only white space differs. */
  readonly isWhole: boolean
}

const mostLines = 50

/** The first place where most lines of `part` match in sequence; nothing when not even its first line does. */
export const find = (text: string, part: string): Nearest | undefined => {
  const wanted = withoutBlankEnds(part.split("\n").map(squeezed)).slice(0, mostLines)
  if (wanted.length === 0) return undefined
  const lines = text.split("\n").map(squeezed)
  let best: Nearest | undefined
  for (let at = 0; at < lines.length; at++) {
    const matched = matchedAt(lines, wanted, at)
    if (matched > (best?.matched ?? 0)) best = { line: at + 1, matched, isWhole: matched === wanted.length }
    if (best?.isWhole) return best
  }
  return best
}

const squeezed = (line: string): string => line.trim().replace(/\s+/g, " ")

const withoutBlankEnds = (lines: ReadonlyArray<string>): ReadonlyArray<string> =>
  lines.slice(lines.findIndex((line) => line !== ""), lines.findLastIndex((line) => line !== "") + 1)

/** The first and the last line of a text may be parts of lines. */
const matchedAt = (lines: ReadonlyArray<string>, wanted: ReadonlyArray<string>, at: number): number => {
  let matched = 0
  for (const want of wanted) {
    const line = lines[at + matched] ?? ""
    const [isFirst, isLast] = [matched === 0, matched === wanted.length - 1]
    const isMatch = isFirst && isLast
      ? line.includes(want)
      : isFirst
      ? line.endsWith(want)
      : isLast
      ? line.startsWith(want)
      : line === want
    if (!isMatch) break
    matched++
  }
  return matched
}
