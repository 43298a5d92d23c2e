/** Words with a slash that are asked of the conversation itself, and not of its model. Pure. */

type Asked =
  | { readonly _tag: "Compact" | "Help" | "Leave" }
  /** a single word that is no command, which may be a mistyped one */
  | { readonly _tag: "Unknown"; readonly word: string }

const commands = new Map<string, "Compact" | "Help" | "Leave">([
  ["/compact", "Compact"],
  ["/help", "Help"],
  ["/quit", "Leave"],
  ["/exit", "Leave"]
])

/** What a line asks for; `undefined` for a message, such as one that only begins with a path. */
export const read = (typed: string): Asked | undefined => {
  const word = typed.trim()
  if (!/^\/[A-Za-z][\w-]*$/.test(word)) return undefined
  const command = commands.get(word)
  return command === undefined ? { _tag: "Unknown", word } : { _tag: command }
}

/** Why a word was not sent, and what there is. */
export const unknown = (word: string): string =>
  `there is no command ${JSON.stringify(word)}, and it was not sent: there are ${[...commands.keys()].join(", ")}; ` +
  "a message for the model has more than one word with a slash"
