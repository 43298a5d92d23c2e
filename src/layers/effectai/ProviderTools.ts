/**
 * The tools that a provider defines, as effect/ai is told of them: it reads every call and result of a tool with the tool's schemas,
 * and an answer with one that does not fit, such as an error that the provider's own tool reports, would be lost as a whole. Nobody
 * here needs them decoded.
 *
 * Does not own the arguments that a handler gets, which its executor decodes.
 */
import * as Tool from "effect/ai/Tool"
import { memoize } from "effect/Function"
import * as Schema from "effect/Schema"

/** The tool, with arguments and results of any form where a provider defines it. */
export const open = (tool: Tool.Any): Tool.Any => Tool.isProviderDefined(tool) ? opened(tool) : tool

/** One for each tool, since effect/ai keeps its decoders by the tools' schemas. */
const opened = memoize((tool: Tool.Any): Tool.Any =>
  tool.setParameters(Schema.Unknown).setSuccess(Schema.Unknown).setFailure(Schema.Unknown)
)
