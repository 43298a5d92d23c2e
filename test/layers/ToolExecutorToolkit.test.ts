/** Running one call through an effect/ai toolkit: whatever a handler does, there is exactly one outcome. */
import { assert, describe, it } from "@effect/vitest"
import * as Prompt from "effect/ai/Prompt"
import * as Context from "effect/Context"
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as ToolExecutorToolkit from "../../src/layers/ToolExecutorToolkit.ts"
import type * as Pointer from "../../src/run/Pointer.ts"
import { ToolCall } from "../../src/services/ToolCall.ts"
import * as ToolExecutor from "../../src/services/ToolExecutor.ts"
import * as ToolRun from "../support/ToolRun.ts"

describe.each(ToolRun.ways)("handlers that are %s", (way) => {
  const { execute, executed } = ToolRun.by(way)

  describe("a handler that succeeds", () => {
    it.effect("settles with its result encoded by its schema", () =>
      Effect.gen(function*() {
        const { outcome } = yield* execute("typed", {
          typed: () =>
            Effect.map(
              Effect.sync(() => new Date(0)),
              () => ({ at: Schema.decodeSync(Schema.DateTimeUtcFromString)("2026-01-02T00:00:00.000Z") })
            )
        })
        assert.deepStrictEqual(outcome, { _tag: "Succeeded", result: { at: "2026-01-02T00:00:00.000Z" } })
      }))

    it.effect("can read its own call", () =>
      Effect.gen(function*() {
        const { outcome } = yield* execute("plain", {
          plain: () => Effect.map(ToolCall, ({ data, idempotencyKey }) => ({ data, idempotencyKey }))
        })
        assert.deepStrictEqual(outcome, { _tag: "Succeeded", result: { data: { tenant: 1 }, idempotencyKey: "key" } })
      }))

    it.effect("without a result settles with null", () =>
      Effect.gen(function*() {
        const { outcome } = yield* execute("nothing", { nothing: () => Effect.void }, { params: {} })
        assert.deepStrictEqual(outcome, { _tag: "Succeeded", result: null })
      }))

    const scribbled = (shown: unknown) =>
      Effect.map(
        execute("scribbling", { scribbling: () => Effect.succeed(shown) }, { params: {} }),
        ({ outcome }) => outcome
      )

    it.effect("with output for the model settles with that beside its result", () =>
      Effect.gen(function*() {
        const { outcome } = yield* execute("drawing", { drawing: () => Effect.void }, { params: {} })
        assert.deepStrictEqual(outcome, {
          _tag: "Succeeded",
          result: null,
          content: [
            { type: "text", text: "A chart" },
            { type: "file", mediaType: "image/png", data: "iVBORw0KGgo=", fileName: "chart.png" },
            { type: "file", mediaType: "image/png", data: "iVBORw0KGgo=" }
          ]
        })
      }))

    it.effect("may show a file as bytes, or by its address", () =>
      Effect.gen(function*() {
        const file = (data: unknown) => ({ type: "file", mediaType: "image/png", data })
        const shown = [file(new Uint8Array([1, 2])), file(new URL("https://example.com/a b.png"))]
        const outcome = yield* scribbled(shown)
        assert.deepStrictEqual("content" in outcome ? outcome.content : [], [
          { type: "file", mediaType: "image/png", data: "AQI=" },
          { type: "file", mediaType: "image/png", data: "https://example.com/a%20b.png" }
        ])
      }))

    it.effect("with output for the model, but a result that is not JSON, keeps the words of the output as the result", () =>
      Effect.gen(function*() {
        const outcome = yield* scribbled(Object.assign([...ToolRun.chart], { toJSON: () => 1n }))
        assert.strictEqual("result" in outcome ? outcome.result : "", "A chart\n[image/png chart.png]\n[image/png]")
      }))

    it.effect("shows the model no more text than the limit, and its files after that", () =>
      Effect.gen(function*() {
        const long = { type: "text", text: "x".repeat(40_000) }
        const { settlement } = yield* executed(
          "scribbling",
          { scribbling: () => Effect.succeed([long, ...ToolRun.chart]) },
          { params: {} }
        )
        const { originalSize, outcome } = settlement as ToolExecutor.Settlement
        assert.strictEqual(originalSize, 40_008)
        const content = outcome._tag === "Succeeded" ? outcome.content ?? [] : []
        assert.deepStrictEqual(content.map(({ type }) => type), ["text", "file", "file"])
        assert.isBelow(content[0]?.type === "text" ? content[0].text.length : 0, 33_000)
      }))

    it.effect.each<readonly [object, string]>([
      [{ type: "file", mediaType: "image/png", data: "" }, "without data"],
      [{ type: "file", mediaType: " ", data: "AQI=" }, "without a media type"],
      [{ type: "file", mediaType: "image/png", data: "no base64!" }, "whose data is neither base64"]
    ])("with the file %j for the model settles NotEncodable", ([file, why]) =>
      Effect.gen(function*() {
        const outcome = yield* scribbled([file])
        assert.strictEqual(outcome._tag, "NotEncodable")
        assert.include("message" in outcome ? outcome.message : "", `its toModelOutput gave a file ${why}`)
      }))

    it.effect("may modify its arguments, even those given frozen", () =>
      Effect.gen(function*() {
        const params = { at: "2026-01-02T00:00:00.000Z", of: Object.freeze({ n: 1, in: Object.freeze([1]) }) }
        const noting = ({ at, of }: { readonly at: DateTime.Utc; readonly of: typeof params.of }) =>
          Effect.sync(() => {
            Object.assign(of, { n: 2 })
            ;(of.in as Array<number>).push(2)
            return [DateTime.formatIso(at), of]
          })
        const { outcome } = yield* execute("noting", { noting }, { params })
        assert.deepStrictEqual(outcome, { _tag: "Succeeded", result: [params.at, { n: 2, in: [1, 2] }] })
        assert.deepStrictEqual<unknown>(params.of, { n: 1, in: [1] })
      }))

    const marker = { anthropic: { cacheControl: { type: "ephemeral" } } }
    it.effect("may attach something to what the model is shown, which goes there with it", () =>
      Effect.gen(function*() {
        const outcome = yield* scribbled([
          Prompt.textPart({ text: "long", options: marker }),
          Prompt.filePart({ mediaType: "image/png", data: "aGk=", options: marker }),
          Prompt.textPart({ text: "short" })
        ])
        assert.deepStrictEqual("content" in outcome ? outcome.content : [], [
          { type: "text", text: "long", metadata: marker },
          { type: "file", mediaType: "image/png", data: "aGk=", metadata: marker },
          { type: "text", text: "short" }
        ])
      }))

    it.effect.each([
      "a text",
      [{ type: "text", text: "a", options: { a: JSON.parse("[".repeat(2000) + "]".repeat(2000)) } }],
      [null],
      Object.assign([], { length: 1 }),
      5,
      [{ type: "text", text: 5 }],
      [{ type: "file", mediaType: "a/b", data: {} }]
    ])(
      "with %j as output for the model settles NotEncodable",
      (shown) =>
        Effect.gen(function*() {
          const { outcome } = yield* execute("scribbling", { scribbling: () => Effect.succeed(shown) }, { params: {} })
          assert.deepStrictEqual(outcome, { _tag: "NotEncodable", message: "its toModelOutput gave no list of parts" })
        })
    )

    class Point {
      readonly x = 1
      readonly y = 2
      sum() {
        return this.x + this.y
      }
    }
    class Nothing {}

    const plain: Array<[string, unknown, Schema.Json]> = [
      ["a text", "text", "text"],
      ["an empty text", "", ""],
      ["null", null, null],
      ["undefined", undefined, null],
      ["an object with a member that is undefined", { a: undefined, b: 1 }, { b: 1 }],
      ["a Date", new Date(0), "1970-01-01T00:00:00.000Z"],
      ["a Map that says itself", { of: Object.assign(new Map([[1, 2]]), { toJSON: () => "1 to 2" }) }, {
        of: "1 to 2"
      }],
      ["a list that says itself", Object.assign([NaN], { toJSON: () => "none" }), "none"],
      ["an Option", Option.some(1), { _id: "Option", _tag: "Some", value: 1 }],
      ["an object of a class, empty or not", [new Point(), new Nothing()], [{ x: 1, y: 2 }, {}]],
      ["members of a prototype, which JSON leaves out", Object.create({ call: () => 1 }), {}],
      ["numbers and texts as objects", [Object(1), Object("a")], [1, "a"]],
      ["bytes", new Uint8Array([1, 2, 255]), "AQL/"],
      ["a Buffer", Buffer.from("hi"), "aGk="],
      ["bytes in a field", { name: "x", data: new Uint8Array([0]).buffer }, { name: "x", data: "AA==" }]
    ]
    it.effect.each(plain)("with %s settles with plain JSON", ([, value, result]) =>
      Effect.gen(function*() {
        const { outcome } = yield* execute("plain", { plain: () => Effect.succeed(value) })
        assert.deepStrictEqual(outcome, { _tag: "Succeeded", result })
      }))

    const lost: ReadonlyArray<readonly [value: unknown, message: string]> = [
      [new Map([[1, 2]]), "a Map is not JSON"],
      [{ rows: [{ by: new Set(["a"]) }] }, "a Set is not JSON, at .rows[0].by"],
      [NaN, "NaN is not JSON"],
      [new Date(NaN), "an invalid Date is not JSON"],
      [{ rows: [{ at: new Date(NaN) }] }, "an invalid Date is not JSON, at .rows[0].at"],
      [{ price: Object(NaN) }, "NaN is not JSON, at .price"],
      [{ price: { of: [1, -Infinity] } }, "-Infinity is not JSON, at .price.of[1]"],
      [["a", undefined], "undefined is not JSON, at [1]"],
      [Array(1), "undefined is not JSON, at [0]"],
      [{ next: () => 1 }, "a function is not JSON, at .next"],
      [{ id: Symbol("x") }, "a symbol is not JSON, at .id"],
      [{ why: Object.assign(new Error("no"), { code: 1 }) }, "an Error is not JSON, at .why"],
      [Promise.resolve(1), "a Promise is not JSON"],
      [new URLSearchParams("a=1"), "a URLSearchParams is not JSON"],
      [{ rows: [{ data: new Uint8Array([1, 2]) }] }, "a Uint8Array is not JSON, at .rows[0].data"]
    ]
    it.effect.each(lost)(
      "with %j, which JSON would change silently, settles NotEncodable: %s",
      ([value, message]) =>
        Effect.gen(function*() {
          const { outcome } = yield* execute("plain", { plain: () => Effect.succeed(value) })
          assert.deepStrictEqual(outcome, { _tag: "NotEncodable", message })
        })
    )

    const circular: Record<string, unknown> = {}
    circular["self"] = circular
    const odd: Array<[string, unknown]> = [
      ["a circular value", circular],
      ["a bigint", 1n],
      ["a bigint inside", { a: [1n] }],
      ["a function", () => 1],
      ["a symbol", Symbol("x")],
      ["a toJSON that throws", {
        toJSON: () => {
          throw new Error("no")
        }
      }],
      [
        "a getter that throws",
        Object.defineProperty({}, "x", {
          enumerable: true,
          get: () => {
            throw new Error("no")
          }
        })
      ]
    ]
    it.effect.each(odd)("with %s settles NotEncodable", ([, value]) =>
      Effect.gen(function*() {
        const { outcome } = yield* execute("plain", { plain: () => Effect.succeed(value) })
        assert.strictEqual(outcome._tag, "NotEncodable")
      }))

    it.effect("with a result that its schema does not allow settles NotEncodable", () =>
      Effect.gen(function*() {
        const { outcome } = yield* execute("typed", { typed: () => Effect.succeed({ at: "tomorrow" }) })
        assert.strictEqual(outcome._tag, "NotEncodable")
      }))
  })

  describe("a long result", () => {
    it.effect("of 30,000 characters is left unchanged", () =>
      Effect.gen(function*() {
        const { settlement } = yield* execute("plain", { plain: () => Effect.succeed("x".repeat(30_000)) })
        assert.deepStrictEqual(settlement, { outcome: { _tag: "Succeeded", result: "x".repeat(30_000) } })
      }))

    it.effect("keeps its head and tail, and says how much is missing and how long it was", () =>
      Effect.gen(function*() {
        const { settlement } = yield* execute("plain", { plain: () => Effect.succeed(`head${"x".repeat(50_000)}tail`) })
        assert.strictEqual(settlement.originalSize, 50_008)
        const result = settlement.outcome._tag === "Succeeded" ? settlement.outcome.result : undefined
        if (typeof result !== "string") return assert.fail("no text")
        assert.isTrue(result.startsWith("head") && result.endsWith("tail"))
        assert.include(result, "20008 of 50008 characters")
        assert.isBelow(result.length, 30_100)
      }))

    it.effect("that is an object is cut as its JSON", () =>
      Effect.gen(function*() {
        const value = { rows: Array.from({ length: 10_000 }, (_, i) => ({ i })) }
        const { settlement } = yield* execute("plain", { plain: () => Effect.succeed(value) })
        const json = JSON.stringify(value)
        const marker = `\n… [${json.length - 30_000} of ${json.length} characters left out] …\n`
        const result = `${json.slice(0, 15_000)}${marker}${json.slice(-15_000)}`
        assert.deepStrictEqual(settlement, { outcome: { _tag: "Succeeded", result }, originalSize: json.length })
      }))

    it.effect("of 20 million characters is cut too", () =>
      Effect.gen(function*() {
        const { settlement } = yield* execute("plain", {
          plain: () => Effect.succeed("\ud83d\ude00".repeat(10_000_000))
        })
        const result = settlement.outcome._tag === "Succeeded" ? settlement.outcome.result : undefined
        assert.isTrue(typeof result === "string" && result.isWellFormed() && result.length < 30_100)
      }))

    it.effect("that is a failure is cut too", () =>
      Effect.gen(function*() {
        const { settlement } = yield* execute("plain", { plain: () => Effect.fail("x".repeat(50_000)) })
        const result = settlement.outcome._tag === "Failed" ? settlement.outcome.result : undefined
        assert.isTrue(typeof result === "string" && result.length < 30_100, "a failure of 50,000 characters")
      }))

    it.effect("that is a defect's message is cut too", () =>
      Effect.gen(function*() {
        const { settlement } = yield* execute("plain", { plain: () => Effect.die(new Error("x".repeat(50_000))) })
        const result = settlement.outcome._tag === "Failed" ? settlement.outcome.result : undefined
        assert.isTrue(typeof result === "string" && result.length < 30_100, "a defect of 50,000 characters")
      }))

    it.effect("has another limit when the application sets one", () =>
      Effect.gen(function*() {
        const { settlement } = yield* execute("plain", { plain: () => Effect.succeed("x".repeat(200)) }).pipe(
          Effect.provideService(ToolExecutorToolkit.ResultLimit, 100)
        )
        assert.strictEqual(settlement.originalSize, 200)
      }))
  })

  describe("a pause", () => {
    const [one, two] = ["a", "b"].map((id) => ({ sessionId: id, runId: `run ${id}` })) as [Pointer.Run, Pointer.Run]
    const paused = (plain: Effect.Effect<unknown, unknown>) =>
      Effect.map(executed("plain", { plain: () => plain }), ({ settlement }) => settlement)

    it.effect("is no outcome, and holds only pointers to the runs", () =>
      Effect.gen(function*() {
        const result = { ...one, text: "words" }
        assert.deepStrictEqual(yield* paused(ToolCall.pause(result, two)), { waitsFor: [one, two] })
      }))

    it.effect("is not caught by the handler's error handling, and runs its finalizers", () =>
      Effect.gen(function*() {
        let isClosed = false
        const handler = ToolCall.pause(one).pipe(
          Effect.catch(() => Effect.succeed("caught")),
          Effect.ensuring(Effect.sync(() => isClosed = true))
        )
        assert.deepStrictEqual(yield* paused(handler), { waitsFor: [one] })
        assert.isTrue(isClosed)
      }))

    it.effect("of several concurrent branches names each run once", () =>
      Effect.gen(function*() {
        const pause = ToolCall.pause(one)
        const all = Effect.all([pause, Effect.never, pause], { concurrency: "unbounded" })
        assert.deepStrictEqual(yield* paused(all), { waitsFor: [one] })
      }))

    it.effect("is none when the handler dies of something else", () =>
      Effect.gen(function*() {
        assert.property(yield* paused(Effect.die({ waitsFor: [one] })), "outcome")
      }))
  })
})

it.effect("the layer needs nothing and provides the executor", () =>
  Effect.gen(function*() {
    const layer: Layer.Layer<ToolExecutor.ToolExecutor> = ToolExecutorToolkit.layer
    const context = yield* Layer.build(layer)
    assert.strictEqual(Context.get(context, ToolExecutor.ToolExecutor), ToolExecutorToolkit.make)
  }))

it.effect.each<readonly [string, ToolExecutor.Handlers["handle"], string]>([
  ["throws", () => {
    throw new Error("no effect at all")
  }, "The tool failed unexpectedly: no effect at all"],
  ["returns nothing", () => Effect.succeed(Stream.empty), "The tool ended without a result."]
])("a custom handle that %s settles with a sentence", ([, handle, words]) =>
  Effect.gen(function*() {
    const handlers: ToolExecutor.Handlers = { tools: ToolRun.kit.tools, handle }
    const identity = { sessionId: "s", runId: "r", callId: "1.0", idempotencyKey: "k", attempt: 1, data: undefined }
    const settlement = yield* ToolExecutorToolkit.make.execute(
      handlers,
      { name: "plain", params: { n: 1 }, timeout: Duration.seconds(1), identity },
      { progress: () => Effect.void, leftBehind: () => Effect.void }
    )
    assert.deepStrictEqual(settlement, { outcome: ToolRun.failed(words) })
  }))
