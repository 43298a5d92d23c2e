/** Owns what the tools that change something declare about themselves. */
import * as Tool from "effect/ai/Tool"
import * as Context from "effect/Context"

/**
 * Not read-only, and destructive in so many words, which is what makes the loop ask a person first. Not idempotent either:
 * a call that was cut off must not be repeated over what a person has changed since.
 */
export const annotations = Context.make(Tool.Readonly, false).pipe(
  Context.add(Tool.Destructive, true),
  Context.add(Tool.Idempotent, false),
  Context.add(Tool.OpenWorld, false)
)
