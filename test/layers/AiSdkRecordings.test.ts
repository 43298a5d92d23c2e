/** Small streams in the shapes of Anthropic, Google and OpenAI's Responses, whole, in pieces and cut, checked as recordings are. */
import { describe } from "@effect/vitest"
import * as Sdk from "../support/AiSdkServers.ts"
import * as Replay from "./AiSdkReplay.ts"

describe("Anthropic", () => {
  Replay.reading("anthropic-messages", [
    Sdk.begin(),
    ...Sdk.thinks(0, "hm \u{1F914}", "SIG"),
    { type: "ping" },
    ...Sdk.says(1, "Ol\u00E1", " \u{1F44B}"),
    ...Sdk.calls(2, "toolu_1", "look", "{\"n\":", "1}"),
    ...Sdk.finish("tool_use")
  ])
})

describe("Anthropic with an error at its end", () => {
  Replay.reading("anthropic-messages", [
    Sdk.begin(),
    ...Sdk.says(0, "Hi"),
    Sdk.apiError("overloaded_error", "no")
  ])
})

describe("Google", () => {
  Replay.reading("google-generate", [
    Sdk.chunk([{ text: "hm \u{1F914}", thought: true }]),
    Sdk.chunk([{ text: "Ol\u00E1" }]),
    Sdk.chunk([{ functionCall: { name: "look", args: { n: 1 } }, thoughtSignature: "TS" }]),
    Sdk.chunk([{ text: "" }], { finishReason: "STOP" })
  ])
})

describe("OpenAI's Responses API", () => {
  Replay.reading("openai-responses", [
    Sdk.created,
    ...Sdk.writes(0, "Ol\u00E1", " \u{1F44B}"),
    ...Sdk.asks(1, "look", "{\"n\":", "1}"),
    Sdk.completed()
  ])
})

describe("OpenAI's Responses API with an error at its end", () => {
  Replay.reading("openai-responses", [
    Sdk.created,
    ...Sdk.writes(0, "Hi"),
    Sdk.failed({ type: "server_error", code: null, message: "Sorry", param: null })
  ])
})
