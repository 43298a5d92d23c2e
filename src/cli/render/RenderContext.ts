/**
 * What a model would be sent of a session now, with the tokens of each message: for people, or as one JSON document.
 * Pure.
 *
 * Does not own what is sent (`Transcript`), nor how tokens are counted (`ContextCommand`).
 */
import type * as Memory from "../../run/Memory.ts"
import * as Message from "../../run/Message.ts"
import { count } from "../../run/Quantity.ts"
import type * as Queue from "../../run/state/Queue.ts"
import * as InputLines from "./InputLines.ts"
import type { Paint } from "./Paint.ts"
import * as TerminalText from "./TerminalText.ts"
import * as ToolLine from "./ToolLine.ts"
import * as ToolResult from "./ToolResult.ts"

/** Token counts are estimates, corrected by what the provider said where that is known. */
export interface Context {
  readonly sessionId: string
  /** the model that was asked last; none before the first turn */
  readonly model: Message.ModelRef | undefined
  /** tokens that the model takes, if known */
  readonly contextWindow: number | undefined
  /** what goes with the messages; unknown for other programs' agents */
  readonly offer: Offer | undefined
  readonly messages: ReadonlyArray<Sized>
  /** what compactions kept for the model to know */
  readonly memory: Memory.Memory | undefined
  /** what was said and is not among the messages yet */
  readonly waiting: Queue.Queue
  /** calls whose results are not among the messages yet */
  readonly openCalls: number
}

interface Offer {
  readonly instructions: string
  readonly tools: ReadonlyArray<string>
  readonly tokens: { readonly instructions: number; readonly tools: number }
}

interface Sized {
  readonly message: Message.Message
  readonly tokens: number
}

interface Look {
  readonly paint: Paint
  /** whether texts are shown whole */
  readonly isFull: boolean
}

const total = ({ messages, offer }: Context): number =>
  messages.reduce((sum, { tokens }) => sum + tokens, (offer?.tokens.instructions ?? 0) + (offer?.tokens.tools ?? 0))

export const json = (context: Context): string => {
  const { contextWindow, memory, messages, model, offer, sessionId } = context
  const document = {
    sessionId,
    model,
    contextWindow,
    tokens: { ...offer?.tokens, messages: messages.map(({ tokens }) => tokens), total: total(context) },
    instructions: offer?.instructions,
    tools: offer?.tools,
    memory,
    messages: messages.map(({ message }) => message)
  }
  return `${TerminalText.json(JSON.stringify(document, null, 2))}\n`
}

export const text = (look: Look, context: Context): string => {
  const { messages, offer } = context
  return [
    ...(offer === undefined ? [] : [
      heading(look, "instructions", offer.tokens.instructions),
      ...ToolResult.linesOf(offer.instructions, look.isFull),
      "",
      heading(look, "tools", offer.tokens.tools),
      ...offer.tools.map(TerminalText.line),
      ""
    ]),
    ...messages.flatMap(({ message, tokens }) => [
      heading(look, message.role, tokens),
      ...linesOf(look, context, message),
      ""
    ]),
    ...InputLines.undelivered(context.waiting, false),
    ...footer(look, context)
  ].map((line) => `${line}\n`).join("")
}

const heading = ({ paint }: Look, name: string, tokens: number): string =>
  paint.dim(`── ${name} · ${count(tokens, "token")}`)

const footer = ({ paint }: Look, context: Context): ReadonlyArray<string> => {
  const { contextWindow, messages, model, offer, openCalls, sessionId } = context
  const tokens = total(context)
  const sum = contextWindow === undefined
    ? `about ${count(tokens, "token")}`
    : `about ${tokens} of ${count(contextWindow, "token")} (${Math.round(tokens / contextWindow * 100)} %)`
  const reader = model === undefined ? [] : [`for ${TerminalText.line(Message.modelName(model))}`]
  return [
    ...(openCalls === 0
      ? []
      : [paint.yellow(`… ${count(openCalls, "call")} without a result yet: shown here as after a new message`)]),
    paint.dim(
      `── session ${TerminalText.line(sessionId)} · ${[count(messages.length, "message"), sum, ...reader].join(" · ")}`
    ),
    ...(offer === undefined && model !== undefined
      ? [paint.dim("   plus instructions and tools, which only the agent's own program knows")]
      : [])
  ]
}

const linesOf = (look: Look, context: Context, message: Message.Message): ReadonlyArray<string> => {
  if (message.role === "system") return ToolResult.linesOf(message.content, look.isFull)
  const parts: ReadonlyArray<Message.AssistantPart> = message.content
  return parts.flatMap((part) => partLines(look, context, part))
}

const partLines = (
  { isFull, paint }: Look,
  { memory }: Context,
  part: Message.AssistantPart
): ReadonlyArray<string> => {
  const below = (text: string) => ToolResult.linesOf(text, isFull).map((line) => paint.dim(`    ${line}`))
  const contentLine = (part: Message.UserPart) => below(part.type === "text" ? part.text : InputLines.file(part))
  switch (part.type) {
    case "text":
      return part.text === memory?.text
        ? [paint.yellow("· what is remembered of what was left out:"), ...below(part.text)]
        : ToolResult.linesOf(part.text, isFull)
    case "reasoning":
      return [paint.dim("· reasoning"), ...(isFull && part.text !== "" ? below(part.text) : [])]
    case "file":
      return [InputLines.file(part)]
    case "tool-call": {
      const { name, params } = part
      return [
        `● ${ToolLine.call(name, params)}`,
        ...(isFull && ToolLine.isCut(params) ? below(ToolResult.text(params)) : [])
      ]
    }
    case "tool-result": {
      const { content, isFailure, name, result } = part
      const failed = isFailure ? paint.red("  ✗ failed") : ""
      const onOne = typeof result === "string" ? result : JSON.stringify(result)
      const shown = content === undefined
        ? below(isFull ? ToolResult.text(result) : onOne)
        : content.flatMap(contentLine)
      return [`← ${TerminalText.line(name)}${failed}`, ...shown]
    }
  }
}
