/** Owns what the tools that only look declare about themselves: they change nothing and can be called again. */
import * as Tool from "effect/ai/Tool"
import * as Context from "effect/Context"

/** Read-only, not destructive, idempotent, closed world. */
export const annotations = Context.make(Tool.Readonly, true).pipe(
  Context.add(Tool.Destructive, false),
  Context.add(Tool.Idempotent, true),
  Context.add(Tool.OpenWorld, false)
)
