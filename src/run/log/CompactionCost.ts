/** What events say that a compaction cost, whatever became of it. */
import * as Schema from "effect/Schema"
import * as Lost from "../Lost.ts"
import * as Usage from "../Usage.ts"

export const fields = {
  usage: Usage.Usage,
  /** to failures of the model that was asked; absent if nothing */
  lost: Schema.optionalKey(Lost.Lost),
  /** `false`: somebody asked for the compaction by hand, and this counts for no run */
  isOfRun: Schema.optionalKey(Schema.Literal(false))
}
