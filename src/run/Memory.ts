/**
 * What a conversation remembers of what compactions left out of it. The model reads it in front of the messages that
 * are kept, and it stays until a later compaction replaces it.
 */
import * as Schema from "effect/Schema"

/** `text` is what the model reads, in the user's place; `data` is what the strategy that made it continues from. */
export const Memory = Schema.Struct({ text: Schema.String, data: Schema.optionalKey(Schema.Json) })
export type Memory = typeof Memory.Type
