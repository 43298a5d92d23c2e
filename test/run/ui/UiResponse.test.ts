/** The response to a page, compared with the one that the AI SDK makes of the same chunks. */
import { assert, it } from "@effect/vitest"
import { JsonToSseTransformStream, UI_MESSAGE_STREAM_HEADERS } from "ai"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as UiMessages from "../../../src/run/UiMessages.ts"

it.effect("the response has the bytes of the AI SDK's, with the protocol's end", () =>
  Effect.gen(function*() {
    const chunks: ReadonlyArray<UiMessages.Chunk> = [
      { type: "start", messageId: "r1:answer" },
      { type: "text-start", id: "1:0" },
      { type: "text-delta", id: "1:0", delta: "Grüße,\n\n\"you\" \u2028" },
      { type: "text-end", id: "1:0" },
      { type: "finish", finishReason: "stop" }
    ]
    const theirs = ReadableStream.from(chunks).pipeThrough(new JsonToSseTransformStream())
    const encoded = yield* Stream.mkString(UiMessages.encode(Stream.fromIterable(chunks)))
    const body = theirs.pipeThrough(new TextEncoderStream())
    assert.strictEqual(encoded, yield* Effect.promise(() => new Response(body).text()))
  }))

it("the response has the headers of the AI SDK's, passes unchanged, and leaves the connection to the server", () => {
  const { connection: _, ...theirs } = UI_MESSAGE_STREAM_HEADERS
  assert.deepStrictEqual(UiMessages.headers, { ...theirs, "cache-control": "no-cache, no-transform" })
})
