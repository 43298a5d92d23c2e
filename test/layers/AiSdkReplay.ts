/**
 * Checks models of the AI SDK against a recorded stream of Anthropic, Google or OpenAI's Responses API: whole, byte by byte, and cut at many
 * offsets, by the stream's end and by an error of its connection.
 *
 * Owns what must hold of any recording. Of the parts it checks only the texts.
 */
import { createAnthropic } from "@ai-sdk/anthropic"
import { createGoogle } from "@ai-sdk/google"
import { createOpenAI } from "@ai-sdk/openai"
import type { LanguageModelV4 } from "@ai-sdk/provider"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import * as LanguageModelAiSdk from "../../src/layers/LanguageModelAiSdk.ts"
import * as Sdk from "../support/AiSdkServers.ts"
import * as OpenAi from "../support/OpenAiServer.ts"
import type { Payload } from "../support/Recording.ts"

type Outcome = Effect.Success<ReturnType<typeof OpenAi.outcome>>
type Fetch = typeof globalThis.fetch

interface Protocol {
  readonly model: (fetch: Fetch) => LanguageModelV4
  readonly event: (payload: Payload) => string
  /** Whether this is where the model finished. */
  readonly isFinish: (payload: Payload) => boolean
  readonly isError: (payload: Payload) => boolean
  readonly text: (payload: Payload) => string
}

const settings = { apiKey: Sdk.key, baseURL: "http://recorded.test/v1" }
/** The SDK makes up ids for parts that have none. */
const generateId = () => {
  let n = 0
  return () => `id-${n++}`
}

export const protocols: Readonly<Record<string, Protocol>> = {
  "anthropic-messages": {
    model: (fetch) => createAnthropic({ ...settings, fetch, generateId: generateId() })("claude-x"),
    event: (payload) => Sdk.named(payload),
    isFinish: ({ type }) => type === "message_stop",
    isError: ({ type }) => type === "error",
    text: ({ delta }) => delta?.type === "text_delta" ? delta.text : ""
  },
  "google-generate": {
    model: (fetch) => createGoogle({ ...settings, fetch, generateId: generateId() })("gemini-x"),
    event: (payload) => OpenAi.data(payload),
    isFinish: ({ candidates, promptFeedback }) =>
      Boolean(candidates?.[0]?.finishReason) || Boolean(promptFeedback?.blockReason),
    isError: ({ error }) => Boolean(error),
    text: ({ candidates }) =>
      (candidates?.[0]?.content?.parts ?? []).map((part: Payload) => part["thought"] ? "" : part["text"] ?? "").join("")
  },
  "openai-responses": {
    model: (fetch) => createOpenAI({ ...settings, fetch }).responses("gpt-x"),
    event: (payload) => Sdk.named(payload),
    isFinish: ({ type }) => type === "response.completed" || type === "response.incomplete",
    isError: ({ type }) => type === "error" || type === "response.failed",
    text: ({ delta, type }) => type === "response.output_text.delta" ? delta : ""
  }
}

/** The outcome of a body that arrives in exactly these pieces (no socket joins them), and then ends or breaks. */
const read = ({ model }: Protocol, pieces: ReadonlyArray<Uint8Array>, ending: "end" | "reset" = "end") =>
  Effect.suspend(() => {
    let at = 0
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        const piece = pieces[at++]
        if (piece !== undefined) controller.enqueue(piece)
        else if (ending === "end") controller.close()
        else controller.error(Object.assign(new TypeError("terminated"), { cause: { code: "UND_ERR_SOCKET" } }))
      }
    })
    const headers = { "content-type": "text/event-stream" }
    const fetch: Fetch = () => Promise.resolve(new Response(body, { headers }))
    return Effect.provide(OpenAi.outcome(), LanguageModelAiSdk.layer(model(fetch)))
  })

/** Fails unless the outcome is that of an answer cut before its finish. */
const checkCut = ({ error, parts }: Outcome, ending: "end" | "reset", at: string): void => {
  assert.isDefined(error, at)
  const isTruncated = error !== undefined && LanguageModelAiSdk.isTruncated(error)
  assert.isTrue(
    isTruncated || (ending === "reset" && error?.reason._tag === "NetworkError"),
    `${at}: ${error?.message}`
  )
  assert.isTrue(error?.isRetryable, at)
  assert.notInclude(OpenAi.types(parts), "finish", at)
}

/** The offsets at which to cut: around the ends of events, and some in between; when `isDense`, many. */
const offsets = (length: number, ends: ReadonlyArray<number>, isDense: boolean): ReadonlyArray<number> => {
  const step = Math.ceil(length / (isDense ? 500 : 20))
  const near = ends.flatMap((end) => [end - 1, end, end + 1])
  const every = Array.from({ length }, (_, at) => at).filter((at) => at % step === 0 || (isDense && at < 1000))
  return [...new Set([...near, ...every])].filter((at) => at >= 0 && at < length)
}

/** The tests of a recording of this protocol. */
export const reading = (name: string, payloads: ReadonlyArray<Payload>, isDense = false): void => {
  const protocol = protocols[name]!
  const events = payloads.map((payload) => new TextEncoder().encode(protocol.event(payload)))
  const body = Buffer.concat(events)
  const decidedBy = payloads.findIndex((payload) => protocol.isFinish(payload) || protocol.isError(payload))
  const isWhole = decidedBy >= 0 && !payloads.some(protocol.isError)
  let length = 0
  const ends = events.map((event) => (length += event.length))
  // an event has come when its line has, its blank line or not
  const decidedAt = (ends[decidedBy] ?? 0) - 2

  it.effect("is read with the text and the end that it has", () =>
    Effect.gen(function*() {
      const { error, parts } = yield* read(protocol, [body])
      if (!isWhole) return assert.isDefined(error)
      assert.isUndefined(error)
      assert.strictEqual(OpenAi.types(parts).at(-1), "finish")
      assert.strictEqual(OpenAi.text(parts), payloads.map(protocol.text).join(""))
    }))

  it.effect("is read the same byte by byte", () =>
    Effect.gen(function*() {
      const whole = yield* read(protocol, [body])
      const pieces = yield* read(protocol, Array.from(body, (byte) => Uint8Array.of(byte)))
      assert.deepStrictEqual(pieces.parts, whole.parts)
      assert.strictEqual(pieces.error?.message, whole.error?.message)
    }))

  if (decidedBy < 0) return
  it.effect.each(["end", "reset"] as const)(
    "fails retryably when cut before its finish by %s",
    (ending) =>
      Effect.gen(function*() {
        for (const at of offsets(decidedAt, ends, isDense)) {
          checkCut(yield* read(protocol, [body.subarray(0, at)], ending), ending, `cut at ${at} of ${length}`)
        }
      }),
    60_000
  )
}
