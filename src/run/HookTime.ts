/** How long hooks took, as a turn's trace shows it. */
import * as Schema from "effect/Schema"

/** How often a hook ran at one point of a turn, and for how long in all, in milliseconds. */
export const HookTime = Schema.Struct({
  hook: Schema.String,
  on: Schema.Literals(["beforeModelCall", "afterModelCall", "beforeToolCall", "afterToolCall"]),
  calls: Schema.Finite,
  duration: Schema.Finite
})
export type HookTime = typeof HookTime.Type
