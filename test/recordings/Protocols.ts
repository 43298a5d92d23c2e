/** The protocols whose recordings are replayed. */
import * as Layer from "effect/Layer"
import * as ModelLanguageModel from "../../src/layers/ModelLanguageModel.ts"
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

export const all: ReadonlyArray<Protocol.Protocol> = [openAiChat]
