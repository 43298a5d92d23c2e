/** Words with a slash that are asked of the conversation itself, and not of its model. Pure. */

type Asked =
  | { readonly _tag: "Compact" }
  /** a single word that is no command, which may be a mistyped one */
  | { readonly _tag: "Unknown"; readonly word: string }

/** What a line asks for; `undefined` for a message, such as one that only begins with a path. */
export const read = (typed: string): Asked | undefined => {
  const word = typed.trim()
  if (!/^\/[A-Za-z][\w-]*$/.test(word)) return undefined
  return word === "/compact" ? { _tag: "Compact" } : { _tag: "Unknown", word }
}

/** Why a word was not sent, and what there is. */
export const unknown = (word: string): string =>
  `there is no command ${
    JSON.stringify(word)
  }, and it was not sent: there is /compact, and Ctrl-D or the end of the input ` +
  "leaves; a message for the model has more than one word with a slash"
