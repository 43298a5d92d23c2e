/**
 * `reasoning_details`, as OpenRouter and its followers stream them: blocks of reasoning, in fragments. They go back as whole
 * blocks, because a signature apart from its text would be refused.
 *
 * Does not own to whom they go back (`Attached`).
 */
import * as Json from "../provider/Json.ts"

/** The field that holds the text of a block streamed in pieces; other blocks, such as encrypted ones, come whole. */
const textOf: ReadonlyMap<unknown, "text" | "summary"> = new Map([
  ["reasoning.text", "text"],
  ["reasoning.summary", "summary"]
])

/** A block continues until its signature has come. */
const goesOn = (block: Json.JsonObject | undefined, { id, index, type }: Json.JsonObject): block is Json.JsonObject =>
  block !== undefined && block.type === type && block.index === index && !block.signature
  && (!block.id || !id || block.id === id)

const joined = (block: Json.JsonObject, fragment: Json.JsonObject, field: "text" | "summary"): Json.JsonObject => {
  const text = (Json.text(block[field]) ?? "") + (Json.text(fragment[field]) ?? "")
  const told = Object.entries(fragment).filter(([, value]) => value !== null)
  return { ...block, ...Object.fromEntries(told), [field]: text }
}

/** Adds a fragment to the blocks so far; ignores what is not an object. */
export const add = (blocks: Array<Json.JsonObject>, given: Json.Json): void => {
  const fragment = Json.object(given)
  if (fragment === undefined) return
  const last = blocks.at(-1)
  const field = textOf.get(fragment.type)
  if (field !== undefined && goesOn(last, fragment)) blocks[blocks.length - 1] = joined(last, fragment, field)
  else blocks.push(fragment)
}

/** The blocks that the fragments make, in order. */
export const whole = (fragments: ReadonlyArray<Json.Json>): ReadonlyArray<Json.JsonObject> => {
  const blocks: Array<Json.JsonObject> = []
  for (const fragment of fragments) add(blocks, fragment)
  return blocks
}
