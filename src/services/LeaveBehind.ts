/**
 * How code that works for a tool call names what it started and could not end, such as a process: the end event of the
 * run has the name under `leftBehind`. A handler that does not end itself is named without it.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

/** A drive provides it to all that it runs, and tells calls apart by their `ToolCall`. Default: nobody listens. */
export const LeaveBehind = Context.Reference<(name: string) => Effect.Effect<void>>("fiberloop/services/LeaveBehind", {
  defaultValue: () => () => Effect.void
})
