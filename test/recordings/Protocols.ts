/** The protocols whose recordings are replayed. Owns what their payloads say; how they are replayed is `Playback`'s. */
import * as Layer from "effect/Layer"
import * as ModelAiSdk from "../../src/layers/ModelAiSdk.ts"
import * as ModelLanguageModel from "../../src/layers/ModelLanguageModel.ts"
import * as Sdk from "../support/AiSdkServers.ts"
import * as OpenAi from "../support/OpenAiServer.ts"
import type * as Protocol from "../support/Protocol.ts"
import * as Recording from "../support/Recording.ts"

type Payloads = ReadonlyArray<Recording.Payload>

const chatEndings = { whole: "whole", error: "failed", open: "cut", either: undefined } as const

const chatEnding = (payloads: Payloads): Protocol.Ending => {
  const { calls, ending } = Recording.read(payloads)
  // whether fragments of calls that make no sense are a failure
  return calls.length === 0 && ending === "whole" ? undefined : chatEndings[ending]
}

export const openAiChat: Protocol.Protocol = {
  name: "openai-chat",
  event: (payload) => OpenAi.data(payload),
  end: OpenAi.done,
  decides: (payload) => Recording.read([payload]).ending !== "open",
  ending: chatEnding,
  text: (payload) => Recording.read([payload]).text,
  model: (server) => ModelLanguageModel.layer.pipe(Layer.provide(OpenAi.model(server)))
}

/** Answers of tools that continue have it at their beginning. */
const stopReason = ({ delta, message }: Recording.Payload): unknown => delta?.stop_reason ?? message?.stop_reason

const anthropicMessages: Protocol.Protocol = {
  name: "anthropic-messages",
  event: (payload) => Sdk.named(payload),
  end: "",
  decides: (payload) => payload["type"] === "error" || Boolean(stopReason(payload)),
  ending: (payloads) => {
    const stopped = payloads.findIndex(({ type }) => type === "message_stop")
    const failed = payloads.findIndex(({ type }) => type === "error")
    if (failed !== -1) return stopped === -1 || failed < stopped ? "failed" : undefined
    return stopped !== -1 && payloads.some(stopReason) ? "whole" : "cut"
  },
  text: ({ delta }) => delta?.type === "text_delta" ? delta.text : "",
  model: (server) => ModelAiSdk.layer({ model: Sdk.anthropic(server) })
}

const googleGenerate: Protocol.Protocol = {
  name: "google-generate",
  event: (payload) => OpenAi.data(payload),
  end: "",
  decides: ({ candidates, error, promptFeedback }) =>
    Boolean(error) || Boolean(candidates?.[0]?.finishReason) || Boolean(promptFeedback?.blockReason),
  ending: (payloads) => {
    const reasons = payloads.flatMap(({ candidates }) => candidates?.[0]?.finishReason ?? [])
    if (reasons.length > 0) {
      const isFailure = reasons.includes("MALFORMED_FUNCTION_CALL")
      return payloads.some(({ error }) => error) ? undefined : isFailure ? "failed" : "whole"
    }
    if (payloads.some(({ error }) => error)) return "failed"
    // whether a reason to block a prompt is a finish
    return payloads.some(({ promptFeedback }) => promptFeedback?.blockReason) ? undefined : "cut"
  },
  text: ({ candidates }) =>
    (candidates?.[0]?.content?.parts ?? []).map((part: Recording.Payload) => part["thought"] ? "" : part["text"] ?? "")
      .join(""),
  model: (server) => ModelAiSdk.layer({ model: Sdk.google(server) })
}

const openAiResponses: Protocol.Protocol = {
  name: "openai-responses",
  event: (payload) => Sdk.named(payload),
  end: "",
  decides: ({ type }) => /^(error|response\.(completed|incomplete|failed))$/.test(type),
  ending: (payloads) => {
    const last = payloads.find(openAiResponses.decides)
    if (last === undefined) return "cut"
    const isWhole = last["type"] === "response.completed" || Boolean(last["response"]?.incomplete_details?.reason)
    return isWhole && !last["response"].error ? "whole" : last["type"] === "response.incomplete" ? undefined : "failed"
  },
  text: ({ delta, type }) => /^response\.(output_text|refusal)\.delta$/.test(type) ? delta : "",
  model: (server) => ModelAiSdk.layer({ model: Sdk.responses(server) })
}

export const all: ReadonlyArray<Protocol.Protocol> = [
  openAiChat,
  anthropicMessages,
  googleGenerate,
  openAiResponses
]
