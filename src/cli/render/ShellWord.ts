/** A word of a command, so that a shell reads it back, and safe to show. Pure. */
import * as CommandLine from "effect/process/CommandLine"
import * as Result from "effect/Result"
import * as Visible from "./Visible.ts"

/** For any POSIX shell; a word with characters that a terminal hides uses the `$'...'` of bash, zsh and ksh. */
export const of = (word: string): string => {
  // A single word is quoted like a program's name, and so are words such as `if`; that does no harm elsewhere.
  const quoted = Visible.hasHidden(word) ? Result.fail(undefined) : CommandLine.join([word])
  return Result.getOrElse(quoted, () => Visible.ansiQuote(word))
}
