/** The scripted tool as effect/ai declares one. */
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Schema from "effect/Schema"
import * as Source from "./Source.ts"

export const toolkit = Toolkit.make(
  Tool.make("double", { parameters: Source.Params, success: Schema.Struct({ doubled: Schema.Finite }) })
)
