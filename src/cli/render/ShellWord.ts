/** A word of a command, as a shell reads it back and safe to show. Pure. */
import * as CommandLine from "effect/process/CommandLine"
import * as Result from "effect/Result"
import * as Visible from "./Visible.ts"

/** As any POSIX shell reads it; one with characters that a terminal hides in the `$'...'` of bash, zsh and ksh. */
export const of = (word: string): string => {
  // One word alone is quoted as a program's name, which includes words such as `if`; that does no harm elsewhere.
  const quoted = Visible.hasHidden(word) ? Result.fail(undefined) : CommandLine.join([word])
  return Result.getOrElse(quoted, () => Visible.ansiQuote(word))
}
