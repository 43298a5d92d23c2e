/** The protocols whose recordings are replayed. */
import * as Layer from "effect/Layer"
import * as ModelAiSdk from "../../src/layers/ModelAiSdk.ts"
import * as ModelLanguageModel from "../../src/layers/ModelLanguageModel.ts"
import * as Sdk from "../support/AiSdkServers.ts"
import * as OpenAi from "../support/OpenAiServer.ts"
import * as Protocol from "../support/Protocol.ts"
import * as Recording from "../support/Recording.ts"

export const openAiChat: Protocol.Protocol = {
  name: "openai-chat",
  event: Protocol.data,
  end: OpenAi.done,
  decides: (payload) => Recording.read([payload]).ending !== "open",
  model: (server) => ModelLanguageModel.layer.pipe(Layer.provide(OpenAi.model(server)))
}

const anthropicMessages: Protocol.Protocol = {
  name: "anthropic-messages",
  event: Protocol.named,
  end: "",
  decides: ({ delta, type }) => type === "error" || (type === "message_delta" && Boolean(delta?.stop_reason)),
  model: (server) => ModelAiSdk.layer({ model: Sdk.anthropic(server) })
}

const googleGenerate: Protocol.Protocol = {
  name: "google-generate",
  event: Protocol.data,
  end: "",
  decides: ({ candidates, error, promptFeedback }) =>
    Boolean(error) || Boolean(candidates?.[0]?.finishReason) || Boolean(promptFeedback?.blockReason),
  model: (server) => ModelAiSdk.layer({ model: Sdk.google(server) })
}

export const all: ReadonlyArray<Protocol.Protocol> = [openAiChat, anthropicMessages, googleGenerate]
