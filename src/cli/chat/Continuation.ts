/** When a message of several lines is complete. Pure. */

/** A line that has ended: by a line feed within a paste, or by Enter. */
export interface Line {
  readonly text: string
  readonly isPasted: boolean
}

interface Message {
  readonly text: string
  readonly isComplete: boolean
}

/**
 * Joins lines that came at once to those of `before`. A paste that the terminal does not mark comes as such a burst; `hasRest`
 * means that it ended within a line. A backslash at the end of a line continues the message.
 */
export const join = (before: string | undefined, burst: ReadonlyArray<Line>, hasRest: boolean): Message => {
  const last = burst[burst.length - 1]
  const lines = burst.map(({ isPasted, text }) => isPasted || !text.endsWith("\\") ? text : text.slice(0, -1))
  return {
    text: [...(before === undefined ? [] : [before]), ...lines].join("\n"),
    isComplete: last !== undefined && !hasRest && !last.isPasted && !last.text.endsWith("\\")
  }
}
