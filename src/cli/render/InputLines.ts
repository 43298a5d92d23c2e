/** What was said to a run under way: how it looks, delivered or not. Pure. */
import type * as Message from "../../run/Message.ts"
import type * as Queue from "../../run/state/Queue.ts"
import * as TerminalText from "./TerminalText.ts"
import * as ToolResult from "./ToolResult.ts"

/** A user's words, each line after a mark. */
export const lines = (messages: ReadonlyArray<Message.UserMessage>): ReadonlyArray<string> =>
  messages.flatMap(({ content }) =>
    content.flatMap((part) => part.type === "text" ? ToolResult.whole(part.text) : [file(part)])
  ).map((line) => `> ${line}`)

export const file = ({ fileName, mediaType }: Message.FilePart): string =>
  `[${fileName === undefined ? "" : `${TerminalText.line(fileName)}, `}${TerminalText.line(mediaType)}]`

/** Inputs that an end gives up (`isOver`), or that wait. */
export const undelivered = (queue: Queue.Queue, isOver: boolean): ReadonlyArray<string> =>
  queue.flatMap(({ messages }) => [`· ${isOver ? "not delivered" : "waits to be delivered"}:`, ...lines(messages)])
