/**
 * What an agent is made of, the same for all its runs.
 *
 * Does not own what it may be made with (`Agent`), nor what it brings to a run (`Brief`).
 */
import type * as DoomLoop from "../../run/DoomLoop.ts"
import type * as RunPolicy from "../../run/RunPolicy.ts"
import type * as Model from "../../services/Model.ts"
import type * as ToolExecutor from "../../services/ToolExecutor.ts"
import type * as Rules from "./Rules.ts"

export interface Definition {
  readonly name: string
  readonly instructions: string
  readonly handlers: ToolExecutor.Handlers
  /** what the agent sets itself; the rest comes from the References `Timeouts` and `Limits`, and then from the defaults */
  readonly timeouts: Partial<RunPolicy.Timeouts>
  readonly limits: RunPolicy.Limits
  readonly output: Output | undefined
  readonly toolPolicy: RunPolicy.ToolPolicy
  /** `undefined`: loops are not looked for */
  readonly doomLoop: DoomLoop.Settings | undefined
  readonly rules: Rules.Rules
}

/** The schema of an agent's final answers. */
export interface Output {
  readonly codec: Model.Output["schema"]
  /** its JSON Schema, as text */
  readonly schema: string
  readonly decode: (text: string) => unknown
}
