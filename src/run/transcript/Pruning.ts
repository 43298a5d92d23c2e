/**
 * Leaves old tool results out of a transcript: a short note replaces each long one. Pure; the same entry gives the same
 * note.
 *
 * Does not own how far that goes; a compaction decides.
 */
import type * as Message from "../Message.ts"
import type * as Entries from "./Entries.ts"

/** Results with more characters than this, as JSON, are replaced. */
const longest = 300

/** `entry` with notes for its long results; the entry itself if it has none. */
export const prune = (entry: Entries.Entry): Entries.Entry => {
  const { message } = entry
  if (message.role !== "tool") return entry
  const content = message.content.map(notePart)
  return content.every((part, i) => part === message.content[i])
    ? entry
    : { ...entry, message: { ...message, content } }
}

const notePart = (part: Message.ToolResultPart): Message.ToolResultPart => {
  const { content, ...rest } = part
  const shown = content ?? part.result
  const size = typeof shown === "string" ? shown.length : JSON.stringify(shown).length
  return size <= longest ? part : { ...rest, result: note(size) }
}

const note = (size: number): string => `(${size} characters of this output were left out to save room)`
