/**
 * Owns showing a text to a person who decides by it: nothing that a terminal acts on (as in `TerminalText.ts`), and also
 * nothing that it hides. Escapes everything that `TerminalText` does, and shows the carriage return before a line feed that
 * `TerminalText` drops. Pure.
 */

/** Control, format, unassigned and ignorable characters, halves of pairs, blank letters and every blank but the space. */
const hidden = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/gu

const short: Record<string, string> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" }

const escape = (char: string): string => {
  const code = char.codePointAt(0)!
  const hex = code.toString(16)
  return short[char] ??
    (code < 0x80
      ? `\\x${hex.padStart(2, "0")}`
      : code <= 0xffff
      ? `\\u${hex.padStart(4, "0")}`
      : `\\U${hex.padStart(8, "0")}`)
}

/** On one line. */
export const line = (text: string): string => text.replace(hidden, escape)

/** Keeps line feeds and tabs. */
export const lines = (text: string): string =>
  text.replace(hidden, (char) => char === "\n" || char === "\t" ? char : escape(char))

/** Whether anything in a text would be escaped on one line. */
export const hasHidden = (text: string): boolean => text.search(hidden) !== -1

/** A word of a command in `$'...'`, as bash, zsh and ksh read it. */
export const ansiQuote = (word: string): string => `$'${line(word.replace(/[\\']/g, "\\$&"))}'`
