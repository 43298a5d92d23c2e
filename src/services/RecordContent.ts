/** Whether spans may hold what people and models say: a setting, read by the loop at every drive. */
import * as Context from "effect/Context"

/**
 * Default `false`: names, counts, times and tags only. `true` puts messages on `chat` spans (`gen_ai.input.messages`,
 * `gen_ai.output.messages`, with the instructions), arguments and results on `execute_tool` spans
 * (`gen_ai.tool.call.arguments`, `gen_ai.tool.call.result`), and error messages on the spans that failed. Metrics and
 * logs never have them.
 */
export const RecordContent = Context.Reference<boolean>("fiberloop/services/RecordContent", {
  defaultValue: () => false
})
