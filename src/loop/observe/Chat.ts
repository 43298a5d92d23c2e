/** The span of one try at a model call, and what is measured of it. */
import * as Effect from "effect/Effect"
import type * as Message from "../../run/Message.ts"
import * as Usage from "../../run/Usage.ts"
import type * as Model from "../../services/Model.ts"
import * as RecordContent from "../../services/RecordContent.ts"
import type * as Attempt from "../turn/Attempt.ts"
import * as Content from "./Content.ts"
import * as Conventions from "./Conventions.ts"
import type * as Family from "./Family.ts"
import * as Metrics from "./Metrics.ts"
import * as Provider from "./Provider.ts"
import * as Spans from "./Spans.ts"

type Result = Attempt.Settled | Attempt.Failed

/** Model calls as metrics tell them apart. */
export const attributesOf = ({ name, provider }: Message.ModelRef): Family.Attributes => ({
  [Conventions.operationName]: "chat",
  [Conventions.providerName]: Provider.nameOf(provider),
  [Conventions.requestModel]: name
})

/** Runs the attempt in a span of its own: what the provider's adapter traces is below it. */
export const around = (
  { info }: Pick<Model.Model["Service"], "info">,
  { messages, metadata, output }: Model.ModelRequest,
  self: Effect.Effect<Result>
): Effect.Effect<Result> =>
  Spans.around({
    name: `chat ${info.name}`,
    kind: "client",
    attributes: {
      ...attributesOf(info),
      [Conventions.requestStream]: true,
      ...(output === undefined ? {} : { [Conventions.outputType]: "json" }),
      [Conventions.conversationId]: metadata.sessionId,
      [Conventions.runId]: metadata.runId,
      [Conventions.turn]: metadata.turn,
      [Conventions.attempt]: metadata.attempt
    },
    describe: (span, result, hasContent) => {
      if (Usage.total(result.usage) > 0) {
        for (const [key, value] of usageOf(result.usage)) span.attribute(key, value)
      }
      if (result._tag === "Failed") {
        const { reason } = result.error
        span.attribute(Conventions.errorType, reason._tag)
        return Spans.failureOf(reason, hasContent)
      }
      const { response } = result
      if (response?.id !== undefined) span.attribute(Conventions.responseId, response.id)
      span.attribute(Conventions.responseModel, response?.model ?? info.name)
      span.attribute(Conventions.finishReasons, [Content.reasonOf(result.finishReason)])
      span.attribute(Conventions.timeToFirstChunk, result.firstPart / 1000)
      if (hasContent) {
        span.attribute(Conventions.outputMessages, Content.output(result.content, result.finishReason))
      }
      return undefined
    }
  }, (span) =>
    Effect.flatMap(RecordContent.RecordContent, (hasContent) => {
      if (hasContent) span.attribute(Conventions.inputMessages, Content.input(messages))
      return Effect.tap(self, (result) => measure(info, result))
    }))

/** Counted where no tokens are known too: a failed call is a call. */
const measure = (info: Message.ModelRef, result: Result): Effect.Effect<void> =>
  Effect.contextWith((context) => {
    const attributes = attributesOf(info)
    const failed = result._tag === "Failed" ? { [Conventions.errorType]: result.error.reason._tag } : {}
    Metrics.modelDuration(result.duration / 1000, { ...attributes, ...failed }, context)
    if (result._tag === "Settled") Metrics.firstChunk(result.firstPart / 1000, attributes, context)
    return Effect.void
  })

/** Tokens as attributes of a span; those that a provider does not tell of are absent. */
export const usageOf = (usage: Usage.Usage): ReadonlyArray<readonly [key: string, value: number]> => {
  const { cacheWriteTokens, cachedInputTokens, cost, inputTokens, outputTokens, reasoningTokens } = usage
  const all = [
    [Conventions.inputTokens, inputTokens],
    [Conventions.outputTokens, outputTokens],
    [Conventions.cacheReadTokens, cachedInputTokens],
    [Conventions.cacheCreationTokens, cacheWriteTokens],
    [Conventions.reasoningTokens, reasoningTokens],
    [Conventions.cost, cost]
  ] as const
  return all.flatMap(([key, value]) => value === undefined ? [] : [[key, value] as const])
}
