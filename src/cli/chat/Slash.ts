/** Words with a slash, which are commands to the conversation, not messages to its model. Pure. */

type Asked =
  | { readonly _tag: "Compact" | "Help" | "Leave" }
  /** a single word that is not a command, but may be a mistyped one */
  | { readonly _tag: "Unknown"; readonly word: string }

const commands = new Map<string, "Compact" | "Help" | "Leave">([
  ["/compact", "Compact"],
  ["/help", "Help"],
  ["/quit", "Leave"],
  ["/exit", "Leave"]
])

/** The command in a line; `undefined` for a message, such as one that only begins with a path. */
export const read = (typed: string): Asked | undefined => {
  const word = typed.trim()
  if (!/^\/[A-Za-z][\w-]*$/.test(word)) return undefined
  const command = commands.get(word)
  return command === undefined ? { _tag: "Unknown", word } : { _tag: command }
}

/** Why a word was not sent, and which words there are. */
export const unknown = (word: string): string =>
  `there is no command ${JSON.stringify(word)}, so nothing was sent: there are ${[...commands.keys()].join(", ")}; ` +
  "a message that begins with a slash needs more than one word"
