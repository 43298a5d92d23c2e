/**
 * Makes text from outside (models, files, arguments) safe to show: what would move the cursor, change colours or the order of
 * letters is shown as an escape instead. Pure.
 */

/** Control characters except tab and line feed, and characters that change the direction or the end of lines. */
const unsafe = /[[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]--[\t\n]]/gv

const escape = (char: string): string => {
  const hex = char.charCodeAt(0).toString(16)
  return hex.length <= 2 ? `\\x${hex.padStart(2, "0")}` : `\\u${hex.padStart(4, "0")}`
}

/** Keeps lines; drops a carriage return before a line feed. */
export const lines = (text: string): string => text.replace(/\r\n/g, "\n").replace(unsafe, escape)

/** On one line. */
export const line = (text: string): string => lines(text).replaceAll("\n", "\\n").replaceAll("\t", "\\t")

/** A sentence on one line: line breaks become blanks. */
export const sentence = (text: string): string => lines(text.replace(/\s+/g, " ").trim())

/** JSON that is safe to show: the same value. */
export const json = (text: string): string =>
  text.replace(unsafe, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`)

/** How many cells of a terminal a text takes at most, from the beginning of a row on. */
export const width = (text: string): number => {
  let cells = 0
  for (const char of text) cells = after(cells, char)
  return cells
}

/** How many rows of so many columns a line takes at most. Tab stops begin anew with each row. */
export const rows = (line: string, columns: number): number => {
  let rows = 1
  let cells = 0
  for (const char of line) {
    if (cells + (char === "\t" ? 1 : cellsOf(char)) > columns) {
      rows++
      cells = 0
    }
    cells = Math.min(after(cells, char), columns)
  }
  return rows
}

/** Pads a text with blanks to so many cells. */
export const pad = (text: string, cells: number): string => text + " ".repeat(Math.max(0, cells - width(text)))

/** The cells with one more character: a tab leads to the next multiple of eight. */
const after = (cells: number, char: string): number => char === "\t" ? cells + 8 - cells % 8 : cells + cellsOf(char)

const cellsOf = (char: string): number => char.codePointAt(0)! >= 0x1100 && !ours.test(char) ? 2 : 1

/** What we draw ourselves takes one cell: the mark of a cut, and lines. */
const ours = /[…\u2500-\u257f]/

/** At most so many cells of a terminal, wide characters counted as two. */
export const cut = (text: string, cells: number): string => {
  let used = 0
  let out = ""
  let before = ""
  for (const char of text) {
    used = after(used, char)
    if (used > cells) return `${before}…`
    before = out
    out += char
  }
  return out
}

/**
 * Text that comes in pieces: holds back the end of a piece that may belong to the same character or line ending as the next
 * piece.
 */
export const piece = (held: string, delta: string): { readonly text: string; readonly held: string } => {
  const all = held + delta
  const isOpen = /[\r\ud800-\udbff]$/.test(all)
  return { text: lines(isOpen ? all.slice(0, -1) : all), held: isOpen ? all.slice(-1) : "" }
}
