/** When a message of several lines is complete. Pure. */
import * as Slash from "./Slash.ts"

/** A line that has ended: by a line feed within a paste, or by Enter. */
export interface Line {
  readonly text: string
  readonly isPasted: boolean
}

interface Message {
  readonly text: string
  readonly isComplete: boolean
  /** what was typed after the message, with its line ends */
  readonly ahead: string
}

/**
 * Joins lines that came at once to those of `before`. What was typed during an answer comes as such a burst, and so does a paste
 * that the terminal does not mark; `rest` is its last line, if that has not ended. A backslash at the end of a line continues
 * the message. A word with a slash is a message of its own, and not a line of one, except within a marked paste.
 */
export const join = (before: string | undefined, burst: ReadonlyArray<Line>, rest: string): Message => {
  const typed = [...burst.map(({ text }) => text), rest]
  const end = before === undefined && !burst.some(({ isPasted }) => isPasted) ? endAtSlash(typed) : -1
  if (end > 0) {
    return { text: textOf(before, burst.slice(0, end)), isComplete: true, ahead: typed.slice(end).join("\n") }
  }
  const last = burst[burst.length - 1]
  const isComplete = last !== undefined && rest === "" && !last.isPasted && !isContinued(last.text)
  return { text: textOf(before, burst), isComplete, ahead: "" }
}

/** The index of the first line that a word with a slash parts from those before it; -1 if there is none. */
const endAtSlash = (lines: ReadonlyArray<string>): number =>
  lines.findIndex((line, index) => {
    const previous = lines[index - 1]
    if (previous === undefined || isContinued(previous)) return false
    return isWord(line) || (index === 1 && isWord(previous))
  })

const isWord = (line: string): boolean => Slash.read(line) !== undefined

const isContinued = (line: string): boolean => line.endsWith("\\")

const textOf = (before: string | undefined, lines: ReadonlyArray<Line>): string =>
  [
    ...(before === undefined ? [] : [before]),
    ...lines.map(({ isPasted, text }) => !isPasted && isContinued(text) ? text.slice(0, -1) : text)
  ].join("\n")
