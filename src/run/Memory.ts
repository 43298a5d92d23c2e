/**
 * What a conversation remembers of what compactions left out of it. It is said to the model in front of the messages
 * that are kept, and stays until a later compaction replaces it.
 */
import * as Schema from "effect/Schema"

/** `text` is what the model reads, in the user's place; `data` what the strategy that made it goes on from. */
export const Memory = Schema.Struct({ text: Schema.String, data: Schema.optionalKey(Schema.Json) })
export type Memory = typeof Memory.Type
