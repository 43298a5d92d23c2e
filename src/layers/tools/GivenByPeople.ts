/**
 * What a person gives for a call, read as if the model or the handler had given it: its arguments, or its result.
 *
 * Does not own whether the call waits for a person; the loop does.
 */
import type * as Tool from "effect/ai/Tool"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Schema from "effect/Schema"
import type * as ToolExecutor from "../../services/ToolExecutor.ts"
import * as KnownHandler from "./KnownHandler.ts"
import * as Settling from "./Settling.ts"
import * as ToolCodecs from "./ToolCodecs.ts"

/** Why the tool's handler cannot take these arguments; `undefined` if it can. */
export const problemOf = (
  handlers: ToolExecutor.Handlers,
  tool: Tool.Any,
  params: Schema.Json
): Effect.Effect<string | undefined> =>
  Effect.map(
    Effect.exit(KnownHandler.inContext(handlers, tool, ToolCodecs.decoded(tool, params))),
    (exit) => Exit.isSuccess(exit) ? undefined : Settling.describe(Cause.squash(exit.cause))
  )

/** A result as the tool returns it; of what the model reads, at most `limit` characters. Fails with what is wrong with it. */
export const answer = Effect.fnUntraced(function*(
  handlers: ToolExecutor.Handlers,
  tool: Tool.Any,
  given: Schema.Json,
  limit: number
): Effect.fn.Return<ToolExecutor.Answered, string> {
  const codecs = ToolCodecs.of(tool)
  const read = Effect.flatMap(codecs.success(given), codecs.settled)
  const exit = yield* Effect.exit(KnownHandler.inContext(handlers, tool, read))
  if (Exit.isFailure(exit)) return yield* Effect.fail(Settling.describe(Cause.squash(exit.cause)))
  const { outcome, originalSize } = Settling.of(tool, {}, exit, limit)
  if (outcome._tag !== "Succeeded") {
    return yield* Effect.fail("message" in outcome ? outcome.message : "it is not a valid result")
  }
  const { _tag: _, ...settled } = outcome
  return { ...settled, ...(originalSize === undefined ? {} : { originalSize }) }
})
