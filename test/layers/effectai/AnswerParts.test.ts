/** Every part of an effect/ai answer is converted to ours, with the provider's metadata. */
import { assert, describe, it } from "@effect/vitest"
import * as Response from "effect/ai/Response"
import * as AnswerParts from "../../../src/layers/effectai/AnswerParts.ts"
import type * as Model from "../../../src/services/Model.ts"

const usage = new Response.Usage({
  inputTokens: { uncached: 5, total: 9, cacheRead: 3, cacheWrite: 1 },
  outputTokens: { total: 7, text: 5, reasoning: 2 }
})
const unknownUsage = new Response.Usage({
  inputTokens: { uncached: undefined, total: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: undefined, text: undefined, reasoning: undefined }
})
const bytes = new Uint8Array([0, 1, 255])

/** The parts that may carry a provider's metadata. */
const annotated: ReadonlyArray<
  readonly [{ readonly type: string; readonly [field: string]: unknown }, Model.ModelPart]
> = [
  [{ type: "text-start", id: "0" }, { type: "block-start", kind: "text", block: "0" }],
  [{ type: "text-delta", id: "0", delta: "a" }, { type: "text-delta", block: "0", delta: "a" }],
  [{ type: "text-end", id: "0" }, { type: "block-end", kind: "text", block: "0" }],
  [{ type: "reasoning-start", id: "1" }, { type: "block-start", kind: "reasoning", block: "1" }],
  [{ type: "reasoning-delta", id: "1", delta: "b" }, { type: "reasoning-delta", block: "1", delta: "b" }],
  [{ type: "reasoning-end", id: "1" }, { type: "block-end", kind: "reasoning", block: "1" }],
  [{ type: "tool-params-end", id: "2" }, { type: "block-end", kind: "tool-params", block: "2" }],
  [
    { type: "tool-call", id: "c", name: "work", params: { n: 1 }, providerExecuted: false },
    { type: "tool-call", id: "c", name: "work", params: { n: 1 } }
  ],
  [
    { type: "tool-call", id: "c", name: "work", params: undefined, providerExecuted: true },
    { type: "tool-call", id: "c", name: "work", params: {}, providerExecuted: true }
  ],
  [
    { type: "tool-result", id: "c", name: "work", result: new Date(0), encodedResult: "1970", isFailure: false },
    { type: "tool-result", id: "c", name: "work", result: "1970", isFailure: false }
  ],
  [
    { type: "tool-result", id: "c", name: "work", result: "no", encodedResult: "no", isFailure: true },
    { type: "tool-result", id: "c", name: "work", result: "no", isFailure: true }
  ],
  [
    { type: "file", mediaType: "image/png", data: bytes },
    { type: "file", mediaType: "image/png", data: "AAH/" }
  ]
]

const others: typeof annotated = [
  [{ type: "tool-params-start", id: "2", name: "work" }, {
    type: "tool-params-delta",
    block: "2",
    tool: "work",
    delta: ""
  }],
  [{ type: "tool-params-delta", id: "2", delta: "{" }, { type: "tool-params-delta", block: "2", delta: "{" }],
  [
    { type: "finish", reason: "length", usage },
    {
      type: "finish",
      reason: "length",
      usage: { inputTokens: 9, outputTokens: 7, cachedInputTokens: 3, cacheWriteTokens: 1, reasoningTokens: 2 }
    }
  ],
  [
    { type: "finish", reason: "stop", usage: unknownUsage },
    { type: "finish", reason: "stop", usage: { inputTokens: 0, outputTokens: 0 } }
  ],
  [{ type: "response-metadata", id: "r", modelId: "m" }, { type: "response", id: "r", model: "m" }],
  [{ type: "response-metadata", id: undefined, modelId: undefined }, { type: "response" }],
  [
    { type: "source", sourceType: "url", id: "1", url: new URL("https://a.test/x"), title: "A" },
    { type: "source", source: { type: "url", url: "https://a.test/x", title: "A" } }
  ],
  [
    { type: "source", sourceType: "url", id: "1", url: new URL("https://a.test"), title: "https://a.test" },
    { type: "source", source: { type: "url", url: "https://a.test/" } }
  ],
  [
    { type: "source", sourceType: "document", id: "1", mediaType: "text/plain", title: "A", fileName: "a.txt" },
    { type: "source", source: { type: "document", id: "1", title: "A", mediaType: "text/plain", fileName: "a.txt" } }
  ],
  [
    { type: "source", sourceType: "document", id: "1", mediaType: "text/plain", title: "A" },
    { type: "source", source: { type: "document", id: "1", title: "A", mediaType: "text/plain" } }
  ],
  [{ type: "of a kind that is not known" }, { type: "response" }]
]

const metadata = { test: { signature: "s" } }
const fromPart = (part: object) => AnswerParts.fromPart(part as AnswerParts.StreamPart)

describe.each([...annotated, ...others])("a part $type", (given, made) => {
  it("is converted without empty metadata", () => {
    assert.deepStrictEqual(fromPart({ ...given, metadata: {} }), made)
  })
})

describe.each(annotated)("a part $type with metadata", (given, made) => {
  it("keeps it", () => {
    assert.deepStrictEqual<object>(fromPart({ ...given, metadata }), { ...made, metadata })
  })
})
