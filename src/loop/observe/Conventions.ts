/**
 * Names of attributes and metrics by the OpenTelemetry semantic conventions for generative AI, as of version 1.41
 * (https://github.com/open-telemetry/semantic-conventions/tree/v1.41.0/docs/gen-ai), and our own where they have none.
 */
export const operationName = "gen_ai.operation.name"
export const providerName = "gen_ai.provider.name"
export const requestModel = "gen_ai.request.model"
export const requestStream = "gen_ai.request.stream"
export const outputType = "gen_ai.output.type"
export const responseId = "gen_ai.response.id"
export const responseModel = "gen_ai.response.model"
export const finishReasons = "gen_ai.response.finish_reasons"
/** seconds */
export const timeToFirstChunk = "gen_ai.response.time_to_first_chunk"
export const inputTokens = "gen_ai.usage.input_tokens"
export const outputTokens = "gen_ai.usage.output_tokens"
export const cacheReadTokens = "gen_ai.usage.cache_read.input_tokens"
export const cacheCreationTokens = "gen_ai.usage.cache_creation.input_tokens"
export const reasoningTokens = "gen_ai.usage.reasoning.output_tokens"
export const conversationId = "gen_ai.conversation.id"
export const agentName = "gen_ai.agent.name"
export const toolName = "gen_ai.tool.name"
export const toolType = "gen_ai.tool.type"
/** as messages name the call */
export const toolCallId = "gen_ai.tool.call.id"
export const tokenType = "gen_ai.token.type"
export const errorType = "error.type"

/** Content, which is opt-in. */
export const inputMessages = "gen_ai.input.messages"
export const outputMessages = "gen_ai.output.messages"
export const toolCallArguments = "gen_ai.tool.call.arguments"
export const toolCallResult = "gen_ai.tool.call.result"

export const operationDuration = "gen_ai.client.operation.duration"
export const operationTimeToFirstChunk = "gen_ai.client.operation.time_to_first_chunk"
export const tokenUsage = "gen_ai.client.token.usage"

/** Ours. */
export const runId = "fiberloop.run.id"
export const turn = "fiberloop.turn"
export const attempt = "fiberloop.attempt"
export const end = "fiberloop.run.end"
export const endReason = "fiberloop.run.reason"
/** as events name the call, with its run and turn */
export const callId = "fiberloop.tool.call.id"
export const outcome = "fiberloop.tool.outcome"
export const cost = "fiberloop.usage.cost"
export const compactionCause = "fiberloop.compaction.cause"
export const compactionStrategy = "fiberloop.compaction.strategy"
/** messages */
export const compactionBefore = "fiberloop.compaction.before"
export const compactionAfter = "fiberloop.compaction.after"
