/** Converts the parts of a streamed answer to those of one that was not streamed. */
import type * as Response from "effect/ai/Response"

interface Block {
  readonly type: "text" | "reasoning"
  text: string
  metadata: Response.ProviderMetadata
}

/** Makes texts and reasoning whole blocks, in the order in which they began; a block's later metadata wins, key by key. */
export const collect = (parts: Iterable<Response.StreamPartEncoded>): Array<Response.PartEncoded> => {
  const whole: Array<Response.PartEncoded> = []
  const open = new Map<string, Block>()
  const blockOf = (type: Block["type"], id: string): Block => {
    const known = open.get(`${type} ${id}`)
    if (known !== undefined) return known
    const block: Block = { type, text: "", metadata: {} }
    open.set(`${type} ${id}`, block)
    whole.push(block)
    return block
  }
  for (const part of parts) {
    switch (part.type) {
      case "text-start":
      case "text-delta":
      case "text-end":
      case "reasoning-start":
      case "reasoning-delta":
      case "reasoning-end": {
        const type = part.type.startsWith("text") ? "text" : "reasoning"
        const block = blockOf(type, part.id)
        if ("delta" in part) block.text += part.delta
        Object.assign(block.metadata, part.metadata)
        if (part.type.endsWith("-end")) open.delete(`${type} ${part.id}`)
        break
      }
      case "tool-params-start":
      case "tool-params-delta":
      case "tool-params-end":
      case "error":
        break
      default:
        whole.push(part)
    }
  }
  return whole
}
