/**
 * Owns which lines match. Plain text, and expressions that cannot backtrack, are matched here in linear time; all others
 * in a thread that is ended when they take too long (`BoundedRegex.ts`).
 */
import * as Effect from "effect/Effect"
import * as RegExps from "effect/RegExp"
import type * as Scope from "effect/Scope"
import * as BoundedRegex from "./BoundedRegex.ts"
import * as FileError from "./FileError.ts"
import type { Line } from "./Lines.ts"

/** A line that matches, and where its first match starts. */
interface Match {
  readonly line: Line
  readonly at: number
  /** How many matches it has, none overlapping; absent for an expression that runs in a thread. */
  readonly count?: number
}

/** Finds the lines that match, in order; fails only when a regular expression takes too long. */
export type LineMatcher = (lines: ReadonlyArray<Line>) => Effect.Effect<ReadonlyArray<Match>, FileError.FileError>

/** A matcher for one search; fails when the text can match no line or is no expression. */
export const make = Effect.fnUntraced(function*(options: {
  readonly text: string
  readonly isRegex: boolean
  readonly ignoreCase: boolean
}): Effect.fn.Return<LineMatcher, FileError.FileError, Scope.Scope> {
  const { ignoreCase, isRegex, text } = options
  if (text === "") return yield* invalid("text is empty: give what to look for.")
  if (!isRegex && /[\r\n]/.test(text)) return yield* invalid("text has a line break: lines are searched one by one.")
  if (!isRegex && !ignoreCase) {
    return findBy((line) => line.indexOf(text), (line) => line.split(text).length - 1)
  }
  const regex = yield* compile(isRegex ? text : RegExps.escape(text), ignoreCase ? "i" : "")
  if (!isRegex || !canBacktrack.test(text)) {
    const all = new RegExp(regex, `${regex.flags}g`)
    return findBy((line) => line.search(regex), (line) => line.match(all)?.length ?? 0)
  }
  const find = yield* BoundedRegex.make(regex)
  return (lines) =>
    lines.length === 0 ? Effect.succeed([]) : Effect.map(
      find(lines.map((line) => line.text)),
      (answer) => answer.map(([index, at]) => ({ line: lines[index]!, at }))
    )
})

/** Without a repetition, an option or an alternative there is only one way to match at each place. */
const canBacktrack = /[*+?{|]/

const findBy = (indexIn: (line: string) => number, countIn: (line: string) => number): LineMatcher => (lines) =>
  Effect.sync(() => {
    const matches: Array<Match> = []
    for (const line of lines) {
      const at = indexIn(line.text)
      if (at !== -1) matches.push({ line, at, count: countIn(line.text) })
    }
    return matches
  })

/** In Unicode mode when the expression allows it; without, JavaScript accepts meaningless escapes. */
const compile = (source: string, flags: string): Effect.Effect<RegExp, FileError.FileError> =>
  Effect.try({ try: () => new RegExp(source, `${flags}u`), catch: () => undefined }).pipe(
    Effect.catch(() =>
      Effect.try({
        try: () => new RegExp(source, flags),
        catch: (cause) => invalid(`${(cause as Error).message}. Correct it, or leave regex out to look for plain text.`)
      })
    )
  )

const invalid = (message: string) => new FileError.FileError({ reason: "InvalidText", message })
