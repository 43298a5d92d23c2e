/**
 * Messages as text for a model that condenses them, in pieces that fit its window together with the question.
 *
 * Does not own the question.
 */
import type * as Message from "../../run/Message.ts"
import * as Truncation from "../tools/Truncation.ts"

/** The most characters shown of a tool's output, and of arguments. */
const longestOutput = 4_000

/**
 * One text per message, in order; a message that says nothing is left out. What was said is indented, and output is JSON, so
 * that no words in them look like somebody else's.
 */
export const texts = (messages: ReadonlyArray<Message.Message>): ReadonlyArray<string> =>
  messages.flatMap((message) => {
    const said = textOf(message)
    return said === "" ? [] : [said]
  })

const textOf = (message: Message.Message): string => {
  if (message.role === "system") return `[system]\n${indented(message.content)}`
  const parts: ReadonlyArray<Message.AssistantPart> = message.content
  const said = parts.map(partOf).filter((text) => text.trim() !== "").join("\n")
  return said === "" || message.role === "tool" ? said : `[${message.role}]\n${said}`
}

/** Indents every line of a text by two characters. */
export const indented = (text: string): string =>
  text.split(/\r\n|[\n\r\u2028\u2029]/).map((line) => `  ${line}`).join("\n")

const partOf = (part: Message.AssistantPart): string => {
  switch (part.type) {
    case "text":
      return indented(part.text)
    // reasoning is not part of what happened
    case "reasoning":
      return ""
    case "file":
      return `(a file: ${
        [part.fileName, part.mediaType].flatMap((text) => text === undefined ? [] : [line(text)]).join(", ")
      })`
    case "tool-call":
      return `[call of ${line(part.name)}] ${json(part.params)}`
    case "tool-result":
      return `[${part.isFailure ? "failure" : "result"} of ${line(part.name)}] ${json(shownOf(part))}`
  }
}

/** What a model read of a result: of its files, what they were. */
const shownOf = ({ content, result }: Message.ToolResultPart): unknown =>
  content === undefined ? result : content.map((part) => part.type === "text" ? part.text : partOf(part)).join("\n")

const json = (value: unknown): string => line(Truncation.truncate(JSON.stringify(value), longestOutput).text)

const line = (text: string): string => text.replace(/[\n\r\u2028\u2029]/g, " ")

/** The texts in groups of at most `limit` tokens. A text that alone exceeds it is cut: its head and tail stay. */
export const pieces = (
  texts: ReadonlyArray<string>,
  limit: number,
  count: (text: string) => number
): ReadonlyArray<ReadonlyArray<string>> => {
  const out: Array<Array<string>> = []
  let left = 0
  for (const given of texts) {
    const text = fit(given, limit, count)
    const tokens = count(text) + 2
    if (out.length === 0 || tokens > left) {
      out.push([])
      left = limit
    }
    out[out.length - 1]!.push(text)
    left -= tokens
  }
  return out
}

/** `text`, cut to at most `limit` tokens. */
export const fit = (text: string, limit: number, count: (text: string) => number): string => {
  let cut = text
  for (let tokens = count(cut), length = text.length; tokens > limit && length > 1; tokens = count(cut)) {
    length = Math.floor(length * Math.min(0.9, limit / tokens))
    cut = Truncation.truncate(text, Math.max(1, length)).text
  }
  return cut
}
