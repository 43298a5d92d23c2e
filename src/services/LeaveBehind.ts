/**
 * How code that works for a tool call names what it started and could not end, such as a process: the run's end event
 * has the name in `leftBehind`. A handler that does not end is named there without this.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

/** A drive provides it to everything it runs, and tells calls apart by their `ToolCall`. Default: nobody listens. */
export const LeaveBehind = Context.Reference<(name: string) => Effect.Effect<void>>("fiberloop/services/LeaveBehind", {
  defaultValue: () => () => Effect.void
})
