/** When a message of several lines is complete. Pure. */

/** A line that was ended; by a line feed within what was pasted, or by Enter. */
export interface Line {
  readonly text: string
  readonly isPasted: boolean
}

interface Message {
  readonly text: string
  readonly isComplete: boolean
}

/**
 * What lines that came at once make, after the lines of `before`. A paste that the terminal does not mark comes as such a
 * burst; `hasRest` where it ended in the middle of a line. A message goes on after a backslash at the end of a line.
 */
export const join = (before: string | undefined, burst: ReadonlyArray<Line>, hasRest: boolean): Message => {
  const last = burst[burst.length - 1]
  const lines = burst.map(({ isPasted, text }) => isPasted || !text.endsWith("\\") ? text : text.slice(0, -1))
  return {
    text: [...(before === undefined ? [] : [before]), ...lines].join("\n"),
    isComplete: last !== undefined && !hasRest && !last.isPasted && !last.text.endsWith("\\")
  }
}
