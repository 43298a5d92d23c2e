/**
 * Calls a handler, however it is reached; costs no fiber where the handler is known and waits for nothing.
 *
 * Does not own how it is run (`KnownHandler`, `BehindHandle`), what its exit means (`Settling`), nor how long it may take
 * (`ToolExecutorToolkit`).
 */
import type * as Tool from "effect/ai/Tool"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import type * as Schema from "effect/Schema"
import * as Tracer from "effect/Tracer"
import * as Detached from "../../services/fibers/Detached.ts"
import { ResultLimit } from "../../services/ResultLimit.ts"
import type * as ToolExecutor from "../../services/ToolExecutor.ts"
import * as BehindHandle from "./BehindHandle.ts"
import * as JsonForm from "./JsonForm.ts"
import * as KnownHandler from "./KnownHandler.ts"
import * as NoHandler from "./NoHandler.ts"
import * as PlainJson from "./PlainJson.ts"
import type * as Settling from "./Settling.ts"
import type * as ToolCodecs from "./ToolCodecs.ts"
import { truncate } from "./Truncation.ts"

type Running = Fiber.Fiber<ToolCodecs.Result | undefined, unknown>

/**
 * Calls the handler in `context`, that of the current fiber. Returns its exit if it has ended by then, else the fiber on which
 * it continues; that fiber ends only after its progress was handed on.
 */
export const start = (
  handlers: ToolExecutor.Handlers,
  tool: Tool.Any,
  call: ToolExecutor.Call,
  observer: ToolExecutor.Observer,
  context: Context.Context<never>
): Settling.Exited | Running => {
  const progress = (encoded: unknown) => {
    const json = JsonForm.of(tool.successSchema as Schema.Top, encoded)
    return json._tag === "Json" ? observer.progress(shown(json, Context.get(context, ResultLimit))) : Effect.void
  }
  let fiber: Running | undefined
  const handler = KnownHandler.find(handlers, tool)
  if (handler === undefined) {
    if (handlers.foundIn !== undefined) return Exit.die(NoHandler.of(tool.name))
    fiber = Detached.start(BehindHandle.run(handlers, tool, call, progress), context)
  } else {
    const run = () => KnownHandler.run(tool, handler, call, progress, () => fiber?.pollUnsafe() !== undefined)
    // a tracer may show the fiber's span to the handler's own code: run that under the shield too
    const running = Context.get(context, Tracer.Tracer).context === undefined ? run() : Effect.suspend(run)
    if (isExit(running)) return running
    fiber = Detached.start(running, KnownHandler.contextOf(handler, context, call))
  }
  return fiber.pollUnsafe() ?? fiber
}

/** A text is cut like a result; any other value stays what its readers expect. */
const shown = (json: PlainJson.Json, limit: number): Schema.Json =>
  json.isText ? truncate(json.text, limit).text : PlainJson.value(json)

const isExit = (running: Effect.Effect<ToolCodecs.Result, unknown>): running is Exit.Exit<ToolCodecs.Result, unknown> =>
  Exit.isExit(running)
