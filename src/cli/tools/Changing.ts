/** Owns what the tools that change something declare about themselves. */
import * as Tool from "effect/ai/Tool"
import * as Context from "effect/Context"

/**
 * Not read-only, and explicitly destructive, so the loop asks a person first. Not idempotent either: repeating a call that
 * was cut off could undo what a person has changed since.
 */
export const annotations = Context.make(Tool.Readonly, false).pipe(
  Context.add(Tool.Destructive, true),
  Context.add(Tool.Idempotent, false),
  Context.add(Tool.OpenWorld, false)
)
