/**
 * Replays recorded chat completions (`openai-chat.*.jsonl`, one payload a line) from the folder `FIBERLOOP_RECORDINGS`,
 * default `../shared/recordings`: whole, in pieces of one byte, and cut at many offsets. Fails when there are none.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, Stream } from "effect"
import type { Response } from "effect/ai"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { afterAll } from "vitest"
import * as LanguageModelOpenAi from "../../src/layers/LanguageModelOpenAi.ts"
import * as ChatStream from "../../src/layers/openai/ChatStream.ts"
import * as Endpoint from "../../src/layers/openai/Endpoint.ts"
import * as OpenAi from "../support/OpenAiServer.ts"

const root = join(import.meta.dirname, "../..")
const folder = resolve(root, process.env["FIBERLOOP_RECORDINGS"] ?? "../shared/recordings")
const files = existsSync(folder)
  ? readdirSync(folder).filter((file) => /^openai-chat\..+\.jsonl$/.test(file)).sort()
  : []
const ran = new Set<string>()

it("there are recordings", () => {
  assert.isNotEmpty(
    files,
    `no openai-chat.*.jsonl in ${folder}: set FIBERLOOP_RECORDINGS to a folder of recorded streams`
  )
})

afterAll(() => console.log(`${ran.size} of ${files.length} recordings of ${folder} ran: ${[...ran].join(", ")}`))

const endpoint = Endpoint.make({ baseUrl: "http://recorded.test/v1", apiKey: Redacted.make("sk-none") })

/** The parts of a body that arrives in these pieces, without a socket that could join them. */
const read = (pieces: Iterable<Uint8Array>) =>
  Effect.gen(function*() {
    const parts: Array<Response.StreamPartEncoded> = []
    const body = Stream.rechunk(Stream.fromIterable(pieces), 1)
    const error = yield* ChatStream.parts(body, yield* endpoint, "text/event-stream").pipe(
      Stream.runForEach((part) => Effect.sync(() => parts.push(part))),
      Effect.as(undefined),
      Effect.catch((error) => Effect.succeed(error))
    )
    return { parts, error }
  })

const single = (bytes: Uint8Array) => Array.from(bytes, (byte) => Uint8Array.of(byte))

/** What a recording says, read in the plainest way; `undefined` where that way does not read it. */
const summary = (payloads: ReadonlyArray<any>) => {
  const deltas = payloads.map((payload) => payload.choices?.[0]?.delta ?? {})
  const joined = (texts: ReadonlyArray<any>) =>
    texts.some((text) => typeof text !== "string") ? undefined : texts.join("")
  const calls = new Map<unknown, { name: string; args: string }>()
  for (const fragment of deltas.flatMap((delta) => delta.tool_calls ?? [])) {
    const key = fragment.index ?? fragment.id
    const call = calls.get(key) ?? { name: fragment.function?.name, args: "" }
    call.args += fragment.function?.arguments ?? ""
    calls.set(key, call)
  }
  const usage = payloads.map((payload) => payload.usage ?? payload.x_groq?.usage).findLast((usage) => usage)
  return {
    text: joined(deltas.map((delta) => delta.content ?? "")),
    reasoning: joined(deltas.map((delta) => delta.reasoning_content ?? delta.reasoning ?? "")),
    calls: [...calls.values()].map(({ args, name }) => ({ name, params: args === "" ? {} : JSON.parse(args) })),
    input: usage?.prompt_tokens
  }
}

for (const file of files) {
  const lines = readFileSync(join(folder, file), "utf8").split("\n").filter((line) => line.trim() !== "")
  const payloads = lines.map((line) => JSON.parse(line))
  const body = new TextEncoder().encode(lines.map((line) => `data: ${line}\n\n`).join("") + OpenAi.done)
  // The answer is whole from the last brace of the payload with the finish reason on.
  const finished = payloads.findIndex((payload) => payload.choices?.[0]?.finish_reason)
  const whole = new TextEncoder().encode(
    lines.slice(0, finished + 1).map((line) => `data: ${line}\n\n`).join("")
  ).length - 2

  describe(file, () => {
    it.effect("is read as what it says", () =>
      Effect.gen(function*() {
        const { error, parts } = yield* OpenAi.answer(OpenAi.events(body))
        assert.isUndefined(error)
        const finish = OpenAi.finishOf(parts)
        const expected = summary(payloads)
        if (expected.text !== undefined) assert.strictEqual(OpenAi.text(parts), expected.text)
        if (expected.reasoning !== undefined) assert.strictEqual(OpenAi.reasoning(parts), expected.reasoning)
        assert.deepStrictEqual(OpenAi.calls(parts).map(({ name, params }) => ({ name, params })), expected.calls)
        assert.strictEqual(finish?.usage.inputTokens.total, expected.input)
        assert.notInclude(["other", "unknown"], finish?.reason)
        for (const tokens of [finish?.usage.inputTokens, finish?.usage.outputTokens]) {
          for (const count of Object.values(tokens ?? {})) assert.isTrue(count === undefined || count >= 0)
        }
        ran.add(file)
      }))

    it.effect("is the same in pieces of one byte", () =>
      Effect.gen(function*() {
        const expected = yield* read([body])
        assert.isUndefined(expected.error)
        assert.deepStrictEqual(yield* read(single(body)), expected)
      }))

    it.effect("is the same in pieces of one byte over a socket", () =>
      Effect.gen(function*() {
        const expected = yield* OpenAi.answer(OpenAi.events(body))
        assert.deepStrictEqual(yield* OpenAi.answer(OpenAi.events(...single(body))), expected)
      }))

    it.effect("cut anywhere before its finish reason it is truncated, without a call; cut later it is whole", () =>
      Effect.gen(function*() {
        const expected = yield* read([body])
        const step = Math.ceil(body.length / 500)
        for (let at = 0; at < body.length; at += Math.abs(at - whole) < 40 ? 1 : step) {
          const { error, parts } = yield* read([body.subarray(0, at)])
          const types = parts.map((part) => part.type)
          if (at < whole) {
            assert.isTrue(
              error !== undefined && LanguageModelOpenAi.isTruncated(error),
              `cut at ${at}: ${error?.message}`
            )
            assert.notInclude(types, "tool-call", `cut at ${at}`)
            assert.notInclude(types, "finish", `cut at ${at}`)
          } else {
            assert.isUndefined(error, `cut at ${at}`)
            assert.deepStrictEqual(types, expected.parts.map((part) => part.type), `cut at ${at}`)
          }
        }
      }))

    it.effect.each(["end", "reset"] as const)(
      "cut by a socket's %s it fails as one that may be tried again",
      (ending) =>
        Effect.gen(function*() {
          const offsets = Array.from({ length: 40 }, (_, n) => Math.floor((n * (whole - 1)) / 40))
          const cuts = offsets.map((at) => ({ ...OpenAi.events(body.subarray(0, at)), ending }))
          const server = yield* OpenAi.make(...cuts)
          yield* Effect.gen(function*() {
            for (const at of offsets) {
              const { error, parts } = yield* OpenAi.outcome()
              const isExpected = error !== undefined
                && (ending === "end" ? LanguageModelOpenAi.isTruncated(error) : error.reason._tag === "NetworkError")
              assert.isTrue(isExpected, `cut at ${at}: ${error?.message}`)
              assert.isTrue(error?.isRetryable)
              assert.notInclude(OpenAi.types(parts), "tool-call", `cut at ${at}`)
              assert.notInclude(OpenAi.types(parts), "finish", `cut at ${at}`)
            }
          }).pipe(Effect.provide(OpenAi.model(server)))
        })
    )
  })
}
