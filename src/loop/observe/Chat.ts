/**
 * The span of one try at a model call, and its duration and usage as metrics: for the calls of turns and of strategies.
 *
 * Does not own what is counted from the log (`Meter`).
 */
import * as Effect from "effect/Effect"
import type * as Tracer from "effect/Tracer"
import type * as AttemptResult from "../../run/AttemptResult.ts"
import type * as Message from "../../run/Message.ts"
import * as Transcript from "../../run/Transcript.ts"
import * as Usage from "../../run/Usage.ts"
import type * as Model from "../../services/Model.ts"
import type * as ObserveCall from "../../services/ObserveCall.ts"
import * as Prices from "../../services/Prices.ts"
import * as Warning from "../../services/Warning.ts"
import type * as Journal from "../log/Journal.ts"
import * as Content from "./Content.ts"
import * as Conventions from "./Conventions.ts"
import * as Metrics from "./Metrics.ts"
import * as Spans from "./Spans.ts"
import type * as Telemetry from "./Telemetry.ts"

/** Says on a span which model it is about; also used for spans of drives. */
export const tellModel = (span: Tracer.Span, info: Message.ModelRef, operation: string): void => {
  const { [Conventions.providerName]: provider } = Metrics.ofModel(info).attributes
  span.attribute(Conventions.operationName, operation)
  span.attribute(Conventions.providerName, provider)
  span.attribute(Conventions.requestModel, info.name)
}

/** Where telemetry goes, what models cost, and what answers are recorded in. */
interface Observed {
  readonly telemetry: Telemetry.Telemetry
  readonly prices: Prices.Prices
  readonly journal: Pick<Journal.Journal, "runId" | "state" | "transcript">
}

/** The try, before it is made. */
interface Subject extends Pick<Observed, "journal" | "prices"> {
  readonly info: Message.ModelRef
  readonly request: Model.ModelRequest
}

/** The ids that an answer's calls get when it is recorded, which is what follows, unless a message to the run comes in between. */
const idsOf = ({ info, journal, request: { metadata } }: Subject, content: Message.AssistantMessage["content"]) =>
  Transcript.sentIds(journal.transcript, {
    seq: journal.state.seq + 1,
    runId: journal.runId,
    turn: metadata.turn,
    model: info,
    message: { role: "assistant", content }
  })

const nameOf = ({ name }: Message.ModelRef): string => `chat ${name}`

const chat: Spans.Kind<Subject, AttemptResult.AttemptResult> = {
  nameOf: ({ info }) => nameOf(info),
  kind: "client",
  introduce: (span, { info, request: { messages, metadata, output } }, hasContent) => {
    tellModel(span, info, "chat")
    span.attribute(Conventions.requestStream, true)
    if (output !== undefined) span.attribute(Conventions.outputType, "json")
    span.attribute(Conventions.conversationId, metadata.sessionId)
    span.attribute(Conventions.runId, metadata.runId)
    span.attribute(Conventions.turn, metadata.turn)
    // a strategy's call is not an attempt of the turn
    if (metadata.attempt > 0) span.attribute(Conventions.attempt, metadata.attempt)
    if (hasContent) span.attribute(Conventions.inputMessages, Content.input(messages))
  },
  describe: (span, subject, result, hasContent) => {
    const { info, prices } = subject
    tellUsage(span, Prices.costed(prices, info, result.usage))
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
      const { content, finishReason } = result
      span.attribute(Conventions.outputMessages, Content.output(content, finishReason, idsOf(subject, content)))
    }
    return undefined
  }
}

/** Counts the attempt; returns a warning where that broke. The duration and tokens of a failed call count too. */
export const measure = (
  telemetry: Telemetry.Telemetry,
  info: Message.ModelRef,
  result: AttemptResult.AttemptResult
): Effect.Effect<void> | undefined => {
  try {
    const model = Metrics.ofModel(info)
    const seconds = result.duration / 1000
    if (result._tag === "Failed") model.discarded(result.error.reason._tag).duration(seconds, telemetry.metrics)
    else {
      model.settled.duration(seconds, telemetry.metrics)
      model.firstChunk(result.firstPart / 1000, telemetry.metrics)
    }
    if (Usage.total(result.usage) > 0) {
      model.inputUsage(result.usage.inputTokens, telemetry.metrics)
      model.outputUsage(result.usage.outputTokens, telemetry.metrics)
    }
    return undefined
  } catch {
    return Warning.warn(`the metrics of "${nameOf(info)}" failed and are incomplete`)
  }
}

/** Runs the attempt in a span of its own, where somebody sees it: what the provider's adapter traces is below it. */
export const around = <Result extends AttemptResult.AttemptResult>(
  { journal, prices, telemetry }: Observed,
  info: Message.ModelRef,
  request: Model.ModelRequest,
  self: Effect.Effect<Result>
): Effect.Effect<Result> => telemetry.isTraced ? Spans.around(chat, { info, request, prices, journal }, self) : self

/** Both, for calls of strategies. */
export const observe = (observed: Observed): ObserveCall.ObserveCall => (info, request, call) =>
  Effect.tap(
    around(observed, info, request, call),
    (result) => measure(observed.telemetry, info, result) ?? Effect.void
  )

/** Tokens as attributes of a span; those that a provider does not report are absent. */
export const tellUsage = (span: Tracer.Span, usage: Usage.Usage): void => {
  if (Usage.total(usage) === 0) return
  const { cacheWriteTokens, cachedInputTokens, cost, inputTokens, outputTokens, reasoningTokens } = usage
  span.attribute(Conventions.inputTokens, inputTokens)
  span.attribute(Conventions.outputTokens, outputTokens)
  if (cachedInputTokens !== undefined) span.attribute(Conventions.cacheReadTokens, cachedInputTokens)
  if (cacheWriteTokens !== undefined) span.attribute(Conventions.cacheCreationTokens, cacheWriteTokens)
  if (reasoningTokens !== undefined) span.attribute(Conventions.reasoningTokens, reasoningTokens)
  if (cost !== undefined) span.attribute(Conventions.cost, cost)
}
