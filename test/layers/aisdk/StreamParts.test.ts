/** Parts of the AI SDK that are not what they seem. */
import { assert, it } from "@effect/vitest"
import * as StreamParts from "../../../src/layers/aisdk/StreamParts.ts"

it("a preliminary result of a provider's own tool is left out", () => {
  const result = { type: "tool-result", toolCallId: "c", toolName: "search", result: "half" } as const
  assert.isUndefined(StreamParts.fromPart({ ...result, preliminary: true }, "m"))
  assert.deepInclude(StreamParts.fromPart(result, "m"), { type: "tool-result", result: "half" })
})

it("an invalid timestamp is left out of an answer's metadata", () => {
  assert.deepStrictEqual(
    StreamParts.fromPart({ type: "response-metadata", id: "r", modelId: "m", timestamp: new Date(NaN) }, "m"),
    { type: "response-metadata", id: "r", modelId: "m", timestamp: undefined }
  )
})
