/**
 * The content of an answer while it comes: blocks that grow, and parts that came whole. Keeps strings only.
 *
 * Does not own which block a delta belongs to (`Collector`).
 */
import type * as Message from "../../run/Message.ts"
import * as Legality from "../../run/transcript/Legality.ts"

export type Entry = Block | { readonly kind: "part"; readonly part: Message.AssistantPart }

export interface Block {
  readonly kind: "block"
  readonly type: "text" | "reasoning"
  readonly id: string
  readonly deltas: Array<string>
  /** the index of its first delta that was shown */
  first: number | undefined
  metadata: Message.Metadata | undefined
}

/** Per key, the last metadata of a block counts. */
export const annotate = (block: Block, metadata: Message.Metadata | undefined): void => {
  if (metadata !== undefined) block.metadata = { ...block.metadata, ...metadata }
}

/** The content in order of appearance, without empty blocks. */
export const content = (entries: ReadonlyArray<Entry>): ReadonlyArray<Message.AssistantPart> => {
  const out: Array<Message.AssistantPart> = []
  for (const entry of entries) {
    if (entry.kind === "part") out.push(entry.part)
    else {
      const { deltas, metadata, type } = entry
      const text = deltas.join("")
      if (text === "" && metadata === undefined) continue
      out.push(metadata === undefined ? { type, text } : Legality.writable({ type, text, metadata }))
    }
  }
  return out
}
