/**
 * Compares the adapter with a recording (`Recording`): whole, in pieces of one byte, and cut at many offsets.
 *
 * Owns what must hold for any recording. What follows a finish reason may be read or ignored.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import * as LanguageModelOpenAi from "../../src/layers/LanguageModelOpenAi.ts"
import * as ChatStream from "../../src/layers/openai/ChatStream.ts"
import * as Endpoint from "../../src/layers/openai/Endpoint.ts"
import * as UsedSoFar from "../../src/layers/provider/UsedSoFar.ts"
import * as OpenAi from "./OpenAiServer.ts"
import * as Recording from "./Recording.ts"

type Outcome = Effect.Success<ReturnType<typeof OpenAi.outcome>>

const endpoint = Endpoint.make({ model: "m", baseUrl: "http://recorded.test/v1", apiKey: Redacted.make("sk-none") })

/** What becomes of a body that arrives in these pieces, without a socket that could join them. */
const read = (pieces: Iterable<Uint8Array>) =>
  Effect.gen(function*() {
    const parts: Array<any> = []
    const body = Stream.rechunk(Stream.fromIterable(pieces), 1)
    const error = yield* ChatStream.parts(body, yield* endpoint, "text/event-stream", "m-1").pipe(
      Stream.runForEach((part) => Effect.sync(() => parts.push(part))),
      Effect.as(undefined),
      Effect.catch((error) => Effect.succeed(error))
    )
    return { parts, error } as Outcome
  })

const single = (bytes: Uint8Array) => Array.from(bytes, (byte) => Uint8Array.of(byte))

/** What the parts say was used so far: once for what arrived together, so that their number depends on that. */
const used = (parts: Outcome["parts"]): ReadonlyArray<UsedSoFar.Counts> =>
  parts.flatMap((part) => part.type === "response-metadata" && part.metadata ? UsedSoFar.read(part) ?? [] : [])

/** All other parts, which are the same however the bytes arrive. */
const others = (parts: Outcome["parts"]): Outcome["parts"] => parts.filter((part) => used([part]).length === 0)

/** Fails unless an outcome matches its recording; `finished` is what that says up to its finish reason. */
export const check = (
  { error, parts }: Outcome,
  said: Recording.Reading,
  finished: Recording.Reading = said,
  at = ""
): void => {
  const types = OpenAi.types(parts)
  const isBetween = (found: string, least: string, most: string, what: string) =>
    assert.isTrue(found.startsWith(least) && most.startsWith(found), `${what}${at}: ${found} is not ${most}`)
  if (said.ending !== "either") {
    isBetween(OpenAi.text(parts), finished.text, said.text, "text")
    isBetween(OpenAi.reasoning(parts), finished.reasoning, said.reasoning, "reasoning")
  }
  const isNameless = error?.reason._tag === "InvalidResponseError" && said.calls.length === 0
  if (said.ending === "open" || said.ending === "error" || error !== undefined) {
    assert.isDefined(error, `an error${at}`)
    if (said.ending === "whole") assert.isTrue(isNameless, `${error?.message}${at}`)
    const isTruncated = error !== undefined && LanguageModelOpenAi.isTruncated(error)
    assert.strictEqual(isTruncated, said.ending === "open", `${error?.message}${at}`)
    assert.notInclude(types, "tool-call", at)
    assert.notInclude(types, "finish", at)
    // an answer that breaks off says what it has used by then
    if (said.ending === "open") {
      assert.strictEqual(used(parts).at(-1)?.inputTokens.total ?? 0, said.input[0] ?? 0, `usage so far${at}`)
    }
    return
  }
  assert.strictEqual(types.at(-1), "finish", at)
  const finish = OpenAi.finishOf(parts)
  if (said.reason !== undefined) assert.strictEqual(finish?.reason, said.reason)
  const calls = OpenAi.calls(parts)
  assert.strictEqual(new Set(calls.map(({ id }) => id)).size, calls.length, "ids")
  const found = calls.map(({ name, params }) => ({ name, params }))
  const readings = [...said.calls, ...finished.calls]
  if (readings.length > 0) {
    const reading = readings.find((calls) => JSON.stringify(calls) === JSON.stringify(found)) ?? readings[0]
    assert.deepStrictEqual(found, [...(reading ?? [])], `calls${at}`)
  }
  assert.include([...said.input, ...finished.input], finish?.usage.inputTokens.total, `usage${at}`)
  for (const tokens of [finish?.usage.inputTokens, finish?.usage.outputTokens]) {
    for (const count of Object.values(tokens ?? {})) assert.isTrue(count === undefined || count >= 0)
  }
}

interface Replay {
  readonly body: Uint8Array
  /** the offsets from which the payloads are whole: their last braces */
  readonly ends: ReadonlyArray<number>
  /** what the first n payloads say */
  readonly readings: ReadonlyArray<Recording.Reading>
  /** how many payloads there are up to the first finish reason or error, and the offset where that ends */
  readonly decided: number
  readonly decidedAt: number
}

const make = (payloads: ReadonlyArray<Recording.Payload>): Replay => {
  const events = payloads.map((payload) => new TextEncoder().encode(OpenAi.data(payload)))
  const body = Buffer.concat([...events, new TextEncoder().encode(OpenAi.done)])
  let length = 0
  const ends = events.map((event) => (length += event.length) - 2)
  const readings = Array.from({ length: ends.length + 1 }, (_, count) => Recording.read(payloads.slice(0, count)))
  const found = readings.findIndex(({ ending }) => ending !== "open")
  const decided = found === -1 ? readings.length : found
  return { body, ends, readings, decided, decidedAt: ends[decided - 1] ?? length }
}

/** The tests of what is read from a recording, whole and cut. */
export const reading = (payloads: ReadonlyArray<Recording.Payload>): void => {
  const { body, decided, decidedAt, ends, readings } = make(payloads)
  const said = Recording.read(payloads)
  const finished = readings[decided] ?? said

  it.effect("is read as it was recorded", () =>
    Effect.gen(function*() {
      check(yield* OpenAi.answer(OpenAi.events(body)), said, finished)
    }))

  it.effect("is the same in pieces of one byte", () =>
    Effect.gen(function*() {
      const whole = yield* read([body])
      const pieces = yield* read(single(body))
      assert.deepStrictEqual({ ...pieces, parts: others(pieces.parts) }, { ...whole, parts: others(whole.parts) })
    }))

  it.effect("cut anywhere is what it says so far: truncated before its finish reason, whole after it", () =>
    Effect.gen(function*() {
      const step = Math.ceil(body.length / 500)
      for (let at = 0; at < body.length; at += Math.abs(at - decidedAt) < 40 ? 1 : step) {
        const count = ends.filter((end) => end <= at).length
        const upTo = readings[count] ?? said
        check(yield* read([body.subarray(0, at)]), upTo, count < decided ? upTo : finished, `, cut at ${at}`)
      }
    }))
}

/** The tests of a recording that arrives over a socket. */
export const sockets = (payloads: ReadonlyArray<Recording.Payload>): void => {
  const { body, decidedAt } = make(payloads)

  it.effect("is the same in pieces of one byte over a socket", () =>
    Effect.gen(function*() {
      const whole = yield* OpenAi.answer(OpenAi.events(body))
      const pieces = yield* OpenAi.answer(OpenAi.events(...single(body)))
      assert.deepStrictEqual(others(pieces.parts), others(whole.parts))
      assert.strictEqual(pieces.error?.reason._tag, whole.error?.reason._tag)
    }))

  describe.each(["end", "reset"] as const)("cut by a socket's %s", (ending) => {
    it.effect("fails as one that may be retried", () =>
      Effect.gen(function*() {
        const offsets = Array.from({ length: 40 }, (_, n) => Math.floor((n * (decidedAt - 1)) / 40))
        const server = yield* OpenAi.make(
          ...offsets.map((at) => ({ ...OpenAi.events(body.subarray(0, at)), ending }))
        )
        yield* Effect.gen(function*() {
          for (const at of offsets) {
            const { error, parts } = yield* OpenAi.outcome()
            assert.isTrue(
              error !== undefined && LanguageModelOpenAi.isTruncated(error),
              `cut at ${at}: ${error?.message}`
            )
            assert.isTrue(error?.isRetryable)
            assert.notInclude(OpenAi.types(parts), "tool-call", `cut at ${at}`)
            assert.notInclude(OpenAi.types(parts), "finish", `cut at ${at}`)
          }
        }).pipe(Effect.provide(OpenAi.model(server)))
      }))
  })
}
