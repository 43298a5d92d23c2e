/** A word of a command as a shell reads it back, safe to show. Pure. */
import * as TerminalText from "./TerminalText.ts"

/**
 * As any POSIX shell reads it; what cannot be shown as it is, in the escapes of `$'...'`, which bash, zsh and ksh know, and
 * POSIX from 2024 on.
 */
export const of = (word: string): string => {
  if (/^[\w./:=@%+-]+$/.test(word)) return word
  return TerminalText.line(word) === word ? `'${word.replaceAll("'", `'\\''`)}'` : `$'${escaped(word)}'`
}

/** The escapes of JSON are among those of `$'...'`, but for quotation marks. */
const escaped = (word: string): string =>
  TerminalText.json(JSON.stringify(word)).slice(1, -1).replace(/\\.|'/g, (one) => quotes[one] ?? one)

const quotes: Readonly<Record<string, string>> = { "\\\"": "\"", "'": "\\'" }
