/**
 * How many tokens messages and tools are, given a function that counts those of a text: everything that is sent counts,
 * in the form in which it is sent.
 *
 * Does not own the counting of text (`TokenEstimate`, `services/Tokenizer`), nor what a provider reports for a request.
 */
import { memoize } from "effect/Function"
import type * as Message from "./Message.ts"
import * as TokenEstimate from "./TokenEstimate.ts"
import * as FileTokens from "./tokens/FileTokens.ts"

/** A tool as a model sees it: its arguments as JSON Schema. */
export interface ToolDefinition {
  readonly name: string
  readonly description?: string | undefined
  readonly schema: unknown
}

/**
 * Whole numbers of at least 1, 0 for no messages. An object is counted once and then always has the same number, so
 * counting a transcript again costs only its new messages. What was counted must not be changed.
 */
export interface MessageTokens {
  readonly message: (message: Message.Message) => number
  /** the sum of its messages */
  readonly messages: (messages: Iterable<Message.Message>) => number
  readonly tool: (tool: ToolDefinition) => number
}

/**
 * What a message costs besides its content: role and boundaries. OpenAI's cookbook counts 3 and 1 for the role
 * (https://cookbook.openai.com/examples/how_to_count_tokens_with_tiktoken); an answer is opened by 3 more, once a
 * request.
 */
export const perMessage = 4

/**
 * What a call, a result or a tool costs besides its name, id and JSON: the keys that it is sent under. OpenAI's
 * cookbook: 7 to 12.
 */
export const perCall = 8

/**
 * `count` returns the tokens of a text. A number that is not finite, or is below 0, is ignored and estimated instead.
 */
export const make = (count: (text: string) => number): MessageTokens => {
  const tokens = (text: string): number => {
    const counted = count(text)
    return counted >= 0 && counted < Infinity ? Math.ceil(counted) : TokenEstimate.text(text)
  }
  const json = (value: unknown): number => tokens(encode(value))
  const sum = (parts: ReadonlyArray<Message.AssistantPart>, from: number): number =>
    parts.reduce((sum, part) => sum + ofPart(part), from)
  const ofPart = (part: Message.AssistantPart): number => {
    switch (part.type) {
      case "text":
        return tokens(part.text)
      case "reasoning":
        return part.text === "" ? sealed(part.metadata) : tokens(part.text)
      case "file":
        return FileTokens.tokens(part) + tokens(part.fileName ?? "")
      case "tool-call":
        return perCall + tokens(part.id) + tokens(part.name) + json(part.params)
      case "tool-result": {
        const { content, id, result } = part
        const frame = perCall + tokens(id)
        return content === undefined ? frame + json(result) : sum(content, frame)
      }
    }
  }
  const message = memoize((message: Message.Message) => {
    if (message.role === "system") return perMessage + tokens(message.content)
    return sum(message.content, perMessage)
  })
  const tool = memoize(({ description, name, schema }: ToolDefinition) =>
    perCall + tokens(name) + tokens(description ?? "") + json(schema)
  )
  return {
    message,
    messages: (all) => {
      let sum = 0
      for (const one of all) sum += message(one)
      return sum
    },
    tool
  }
}

/** Reasoning that a provider sealed is in its metadata, in base64: five characters of that count as one token. */
const sealed = (metadata: Message.Metadata | undefined): number =>
  metadata === undefined ? 0 : Math.ceil(encode(metadata).length / 5)

/** Escapes count, as they are sent. What is nested too deeply to be written as JSON is left out when it is sent, too. */
const encode = (value: unknown): string => {
  try {
    return JSON.stringify(value) ?? ""
  } catch {
    return ""
  }
}
