/**
 * Calls a handler that can only be reached through a toolkit's `handle`, because its tools became known at run time or somebody
 * wraps `handle`.
 *
 * Does not own what becomes of a failure (`Settling`).
 */
import type * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Frozen from "../../run/Frozen.ts"
import { ToolCall } from "../../services/ToolCall.ts"
import type * as ToolExecutor from "../../services/ToolExecutor.ts"
import * as Shield from "./Shield.ts"
import * as ToolCodecs from "./ToolCodecs.ts"

/** How many preliminary results a handler may be ahead of their reader. */
const progressBuffer = 16

/** The last element that `handle` emits. */
export const run = (
  handlers: ToolExecutor.Handlers,
  tool: Tool.Any,
  call: ToolExecutor.Call,
  progress: (encoded: unknown) => Effect.Effect<void>
): Effect.Effect<ToolCodecs.Result | undefined, unknown> => {
  let last: ToolCodecs.Result | undefined
  const take = (result: Tool.HandlerResult<Tool.Any>) => {
    if (result.preliminary) return progress(result.encodedResult)
    last = result
    return Effect.void
  }
  // a handler that throws is one that fails
  return Effect.suspend(() => ToolCodecs.of(tool).fitting(call.params)).pipe(
    Effect.flatMap((params) => handlers.handle(call.name, Frozen.thawed(params), call.identity.callId)),
    Effect.flatMap((results) => Stream.runForEach(results, take)),
    Effect.map(() => last),
    Effect.updateContext((given: Context.Context<never>) =>
      Shield.over(given).pipe(
        Context.add(ToolCall, call.identity),
        Context.add(Toolkit.PreliminaryBuffer, progressBuffer)
      )
    )
  ) as Effect.Effect<ToolCodecs.Result | undefined, unknown>
}
