/**
 * What an agent changes from turn to turn: fewer tools, a tool that must be called, other instructions.
 *
 * If it throws, fails, takes longer than a tool may, asks for the impossible, or returns a field that a change does not have, the
 * run ends with `HookBlocked`.
 */
import type * as Effect from "effect/Effect"
import type { Json } from "effect/Schema"
import type * as Message from "../run/Message.ts"
import type * as RunEvent from "../run/RunEvent.ts"
import type * as Model from "./Model.ts"

/** The turn that comes next. */
export interface Turn {
  readonly sessionId: string
  readonly runId: string
  /** from 1 */
  readonly turn: number
  /** of the run so far */
  readonly totals: RunEvent.Totals
  /** the run's `data` */
  readonly data: Json | undefined
  /** what the model is to answer: a user's message, or the results of its calls */
  readonly last: Message.Message | undefined
}

/**
 * For this turn only; what is left out stays as it is.
 *
 * - `tools`: those offered, by name, of the ones that the run may use; a call of another one is `UnknownTool`.
 * - `toolChoice`: whether tools may or must be called; a tool that must be called has to be offered.
 * - `instructions`: replace the run's.
 */
export interface Change<Tool extends string = string> {
  readonly tools?: ReadonlyArray<Tool> | undefined
  readonly toolChoice?: Exclude<Model.ToolChoice, object> | { readonly tool: Tool } | undefined
  readonly instructions?: string | undefined
}

/** Asked before every turn except one that another drive left open. Returning nothing changes nothing. */
export type PrepareTurn<Tool extends string = string> = (
  turn: Turn
) => Change<Tool> | void | Effect.Effect<Change<Tool> | void, unknown>
