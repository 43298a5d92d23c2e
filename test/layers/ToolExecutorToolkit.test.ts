/** Running one call through an effect/ai toolkit: whatever a handler does, there is exactly one outcome. */
import { assert, describe, it } from "@effect/vitest"
import * as AiError from "effect/ai/AiError"
import * as Prompt from "effect/ai/Prompt"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as SchemaGetter from "effect/SchemaGetter"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as Tracer from "effect/Tracer"
import { beforeEach } from "vitest"
import * as ToolExecutorToolkit from "../../src/layers/ToolExecutorToolkit.ts"
import type * as Pointer from "../../src/run/Pointer.ts"
import type * as ToolOutcome from "../../src/run/ToolOutcome.ts"
import { NeedsResult } from "../../src/services/NeedsResult.ts"
import * as ToolExecutor from "../../src/services/ToolExecutor.ts"
import { ToolCall } from "../../src/services/ToolExecutor.ts"

const parameters = Schema.Struct({ n: Schema.Finite })
const Place = Schema.Struct({ city: Schema.String, zip: Schema.optionalKey(Schema.String) })
const query = Schema.Struct({
  q: Schema.String,
  after: Schema.NullOr(Schema.String),
  limit: Schema.optionalKey(Schema.Int),
  sort: Schema.optional(Schema.Literals(["up", "down"])),
  page: Schema.Int.pipe(Schema.withDecodingDefault(Effect.succeed(1))),
  label: Schema.optionalKey(Schema.NullOr(Schema.String)),
  near: Schema.optionalKey(Place),
  places: Schema.optionalKey(Schema.Array(Place)),
  weights: Schema.optionalKey(Schema.Record(Schema.String, Schema.Finite)),
  by: Schema.optionalKey(
    Schema.Union([
      Schema.Struct({ kind: Schema.tag("name"), name: Schema.optionalKey(Schema.String) }),
      Schema.Struct({ kind: Schema.tag("age"), age: Schema.Int })
    ])
  )
})
const failure = Schema.Struct({ code: Schema.Finite, at: Schema.DateTimeUtcFromString })
const chart = [
  Prompt.textPart({ text: "A chart" }),
  Prompt.filePart({ mediaType: "image/png", fileName: "chart.png", data: "iVBORw0KGgo=" }),
  Prompt.filePart({ mediaType: "image/png", data: "iVBORw0KGgo=" })
]
/** What writing a result waits for. */
let slowly: Effect.Effect<void> = Effect.void
const Slow = Schema.String.pipe(Schema.decodeTo(Schema.String, {
  decode: SchemaGetter.passthrough(),
  encode: SchemaGetter.transformEffect((text: string) => Effect.as(Effect.suspend(() => slowly), text))
}))

const kit = Toolkit.make(
  Tool.make("plain", { parameters, success: Schema.Unknown, failure: Schema.Unknown, dependencies: [ToolCall] }),
  Tool.make("returning", { parameters, success: Schema.String, failure, failureMode: "return" }),
  Tool.make("failing", { parameters, success: Schema.String, failure }),
  Tool.make("typed", { parameters, success: Schema.Struct({ at: Schema.DateTimeUtcFromString }) }),
  Tool.make("look", { parameters, success: Schema.Unknown }).annotate(Tool.Readonly, true),
  Tool.make("slow", { parameters, success: Slow, failure: Slow, failureMode: "return" }),
  Tool.make("late", { parameters, success: Schema.String, failure: Slow }),
  Tool.make("nothing", { success: Schema.Void }),
  Tool.make("search", { parameters: query, success: Schema.Unknown }),
  Tool.make("drawing", { success: Schema.Void, toModelOutput: () => chart })
)
type Handlers = Parameters<typeof kit.toLayer>[0]
const unused = () => Effect.die(new Error("this handler is not for this test"))

interface Ran {
  readonly settlement: ToolExecutor.Settlement | ToolExecutor.Paused
  readonly progress: ReadonlyArray<unknown>
  readonly leftBehind: ReadonlyArray<ToolOutcome.ToolOutcome>
}

interface Settled extends Ran {
  readonly settlement: ToolExecutor.Settlement
  readonly outcome: ToolOutcome.ToolOutcome
}

/** Whether the executor finds the handlers themselves, or has only what calls them. */
let way: "known" | "behind handle"

/** Runs `name` with what `handlers` says, to its outcome. */
const execute = (...args: Parameters<typeof executed>): Effect.Effect<Settled> =>
  Effect.map(executed(...args), (ran) => {
    const { settlement } = ran
    return "outcome" in settlement ? { ...ran, settlement, outcome: settlement.outcome } : assert.fail("it paused")
  })

const executed = Effect.fnUntraced(function*(
  name: string,
  handlers: { readonly [K in keyof typeof kit.tools]?: any },
  options: {
    readonly params?: Schema.Json
    readonly timeout?: Duration.Input
    readonly onProgress?: (value: Schema.Json) => Effect.Effect<void>
  } = {}
): Effect.fn.Return<Ran> {
  const all = {
    plain: unused,
    returning: unused,
    failing: unused,
    typed: unused,
    look: unused,
    slow: unused,
    late: unused,
    nothing: unused,
    search: unused,
    drawing: unused,
    ...handlers
  }
  const known = Effect.zipWith(kit, Effect.context<never>(), (found, foundIn) => ({ ...found, foundIn }))
  const resolved = yield* Effect.provide(way === "known" ? known : kit, kit.toLayer(all as Handlers as never))
  const progress: Array<unknown> = []
  const leftBehind: Array<ToolOutcome.ToolOutcome> = []
  const settlement = yield* ToolExecutorToolkit.make.execute(
    resolved as unknown as ToolExecutor.Handlers,
    {
      name,
      params: options.params === undefined ? { n: 1 } : options.params,
      timeout: Duration.fromInputUnsafe(options.timeout ?? "1 minute"),
      identity: { sessionId: "s", runId: "r", callId: "1.0", idempotencyKey: "key", attempt: 1, data: { tenant: 1 } }
    },
    {
      progress: (value) =>
        Effect.andThen(options.onProgress?.(value) ?? Effect.void, Effect.sync(() => progress.push(value))),
      leftBehind: (outcome) => Effect.sync(() => leftBehind.push(outcome))
    }
  )
  return { settlement, progress, leftBehind }
})

const failed = (result: Schema.Json): ToolOutcome.ToolOutcome => ({ _tag: "Failed", result })

describe.each(["known", "behind handle"] as const)("handlers that are %s", (which) => {
  beforeEach(() => {
    way = which
  })

  describe("a pause", () => {
    const [one, two] = ["a", "b"].map((id) => ({ sessionId: id, runId: `run ${id}` })) as [Pointer.Run, Pointer.Run]
    const paused = (plain: Effect.Effect<unknown, unknown>) =>
      Effect.map(executed("plain", { plain: () => plain }), ({ settlement }) => settlement)

    it.effect("is no outcome, and names the runs and nothing else of them", () =>
      Effect.gen(function*() {
        const result = { ...one, text: "words" }
        assert.deepStrictEqual(yield* paused(ToolExecutor.ToolCall.pause(result, two)), { waitsFor: [one, two] })
      }))

    it.effect("passes by what a handler does about its failures, and by its finalizers", () =>
      Effect.gen(function*() {
        let isClosed = false
        const handler = ToolExecutor.ToolCall.pause(one).pipe(
          Effect.catch(() => Effect.succeed("caught")),
          Effect.ensuring(Effect.sync(() => isClosed = true))
        )
        assert.deepStrictEqual(yield* paused(handler), { waitsFor: [one] })
        assert.isTrue(isClosed)
      }))

    it.effect("of several at once names each run once", () =>
      Effect.gen(function*() {
        const pause = ToolExecutor.ToolCall.pause(one)
        const all = Effect.all([pause, Effect.never, pause], { concurrency: "unbounded" })
        assert.deepStrictEqual(yield* paused(all), { waitsFor: [one] })
      }))

    it.effect("is none where the handler dies of something else", () =>
      Effect.gen(function*() {
        assert.property(yield* paused(Effect.die({ waitsFor: [one] })), "outcome")
      }))
  })

  describe("null for an optional property", () => {
    const search = (params: Schema.JsonObject) =>
      Effect.map(
        execute("search", { search: (given: unknown) => Effect.succeed(given) }, { params }),
        ({ outcome }) => outcome
      )
    const base = { q: "a", after: null, page: 2 }

    it.effect.each<readonly [string, Schema.JsonObject, Schema.JsonObject]>([
      ["that may be left out", { ...base, limit: null }, base],
      ["of several kinds", { ...base, limit: null, sort: null, near: null, places: null, by: null }, base],
      ["with a default", { ...base, page: null }, { ...base, page: 1 }],
      ["in an object", { ...base, near: { city: "Oslo", zip: null } }, { ...base, near: { city: "Oslo" } }],
      ["in a list", { ...base, places: [{ city: "Oslo", zip: null }] }, { ...base, places: [{ city: "Oslo" }] }],
      ["in one of several shapes", { ...base, by: { kind: "name", name: null } }, { ...base, by: { kind: "name" } }],
      ["beside one that takes null", { ...base, limit: null, label: null }, { ...base, label: null }]
    ])("%s is as if it was left out", ([, params, seen]) =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* search(params), { _tag: "Succeeded", result: seen })
      }))

    it.effect("that takes null is null", () =>
      Effect.gen(function*() {
        const given = { ...base, label: null }
        assert.deepStrictEqual(yield* search(given), { _tag: "Succeeded", result: given })
      }))

    it.effect.each<readonly [string, Schema.JsonObject, string]>([
      ["a property that has to be there", { ...base, limit: null, q: null }, `["q"]`],
      ["an entry of a record", { ...base, weights: { a: null } }, `["weights"]["a"]`],
      ["an item of a list", { ...base, places: [null] }, `["places"][0]`],
      ["a property that has to be there, in an object", { ...base, near: { city: null } }, `["near"]["city"]`]
    ])("is none for %s", ([, params, place]) =>
      Effect.gen(function*() {
        const outcome = yield* search(params)
        assert.strictEqual(outcome._tag, "InvalidArguments")
        assert.include(outcome._tag === "InvalidArguments" ? outcome.message : "", `at ${place}`)
      }))

    it.effect("is asked about, and no problem, as the handler would get it", () =>
      Effect.gen(function*() {
        const seen: Array<unknown> = []
        const pay = Tool.make("pay", {
          parameters: Schema.Struct({ note: Schema.optionalKey(Schema.String) }),
          needsApproval: (params) => seen.push(params) > 0
        })
        const handlers = { tools: { pay } } as unknown as ToolExecutor.Handlers
        const call = { name: "pay", params: { note: null }, callId: "1.0", messages: () => [] }
        assert.isTrue(yield* ToolExecutorToolkit.make.needsApproval(handlers, call, false))
        assert.deepStrictEqual(seen, [{}])
        assert.isUndefined(yield* ToolExecutorToolkit.make.problemOf(handlers, "pay", { note: null }))
      }))
  })

  describe("a result that a person gives", () => {
    const answered = (tool: Tool.Any, result: Schema.Json, limit?: number) => {
      const handlers = { tools: { [tool.name]: tool } } as unknown as ToolExecutor.Handlers
      const given = ToolExecutorToolkit.make.answeredWith(handlers, tool.name, result)
      return limit === undefined ? given : Effect.provideService(given, ToolExecutorToolkit.ResultLimit, limit)
    }

    it.effect.each<readonly [success: Schema.Top, given: Schema.Json, result: Schema.Json]>([
      [Schema.String, "yes", "yes"],
      [Schema.Void, null, null],
      [Schema.NullOr(Schema.String), null, null],
      [Schema.Struct({ at: Schema.Date }), { at: "2026-01-02T00:00:00.000Z" }, { at: "2026-01-02T00:00:00.000Z" }],
      [Schema.Struct({ a: Schema.Finite }), { a: 1, more: 2 }, { a: 1 }],
      [Schema.Unknown, [1, { b: null }], [1, { b: null }]]
    ])("is what the tool's schema reads, as that writes it: %j", ([success, given, result]) =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* answered(Tool.make("ask", { success }), given), { result })
      }))

    it.effect("is refused where its schema does not read it, and says where", () =>
      Effect.gen(function*() {
        const success = Schema.Struct({ answer: Schema.String })
        const words = yield* Effect.flip(answered(Tool.make("ask", { success }), { answer: 1 }))
        assert.match(words, /answer/)
        assert.match(yield* Effect.flip(answered(Tool.make("ask", {}), "no result at all")), /./)
        const handlers = { tools: {} } as unknown as ToolExecutor.Handlers
        const none = yield* Effect.flip(ToolExecutorToolkit.make.answeredWith(handlers, "ask", 1))
        assert.strictEqual(none, "there is no such tool")
      }))

    it.effect("is cut, with the size that it had", () =>
      Effect.gen(function*() {
        const given = yield* answered(Tool.make("ask", { success: Schema.String }), "x".repeat(100), 50)
        assert.strictEqual(given.originalSize, 100)
        assert.notStrictEqual(given.result, "x".repeat(100))
      }))

    it.effect("is read with the services that the tool's handler has", () =>
      Effect.gen(function*() {
        const success = Schema.String.pipe(Schema.decodeTo(Schema.String, {
          decode: SchemaGetter.transformEffect((text: string) => Effect.map(Suffix, (suffix) => text + suffix)),
          encode: SchemaGetter.transform((text: string) => text)
        }))
        const asking = Toolkit.make(Tool.make("ask", { success }))
        const layer = asking.toLayer({ ask: () => Effect.succeed("") })
        const foundIn = yield* Layer.build(Layer.provide(layer, Layer.succeed(Suffix, "!")))
        const handlers = { tools: asking.tools, foundIn } as unknown as ToolExecutor.Handlers
        const given = yield* ToolExecutorToolkit.make.answeredWith(handlers, "ask", "yes")
        assert.deepStrictEqual(given, { result: "yes!" })
      }))

    it.effect("is needed where the tool says so, and then every call of it asks", () =>
      Effect.gen(function*() {
        const ask = Tool.make("ask", {}).annotate(NeedsResult, true)
        const handlers = { tools: { ask, other: Tool.make("other", {}) } } as unknown as ToolExecutor.Handlers
        const call = { name: "ask", params: {}, callId: "1.0", messages: () => [] }
        assert.isTrue(ToolExecutorToolkit.make.needsResult(handlers, "ask"))
        assert.isFalse(ToolExecutorToolkit.make.needsResult(handlers, "other"))
        assert.isFalse(ToolExecutorToolkit.make.needsResult(handlers, "none"))
        assert.isTrue(yield* ToolExecutorToolkit.make.needsApproval(handlers, call, false))
        assert.isFalse(yield* ToolExecutorToolkit.make.needsApproval(handlers, { ...call, name: "other" }, false))
      }))
  })

  describe("a handler that succeeds", () => {
    it.effect("settles with its result as its schema encodes it", () =>
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

    it.effect("is told its call", () =>
      Effect.gen(function*() {
        const { outcome } = yield* execute("plain", {
          plain: () => Effect.map(ToolCall, ({ data, idempotencyKey }) => ({ data, idempotencyKey }))
        })
        assert.deepStrictEqual(outcome, { _tag: "Succeeded", result: { data: { tenant: 1 }, idempotencyKey: "key" } })
      }))

    it.effect("with nothing settles with null", () =>
      Effect.gen(function*() {
        const { outcome } = yield* execute("nothing", { nothing: () => Effect.void }, { params: {} })
        assert.deepStrictEqual(outcome, { _tag: "Succeeded", result: null })
      }))

    it.effect("with something to show settles with its text, and the names of its files", () =>
      Effect.gen(function*() {
        const { outcome } = yield* execute("drawing", { drawing: () => Effect.void }, { params: {} })
        assert.deepStrictEqual(outcome, { _tag: "Succeeded", result: Prompt.toolModelOutputToText(chart) })
      }))

    const plain: Array<[string, unknown, Schema.Json]> = [
      ["a text", "text", "text"],
      ["an empty text", "", ""],
      ["null", null, null],
      ["undefined", undefined, null],
      ["an object with undefined in it", { a: undefined, b: [undefined] }, { b: [null] }],
      ["NaN", { a: NaN }, { a: null }],
      ["a Date", new Date(0), "1970-01-01T00:00:00.000Z"],
      ["a Map", new Map([[1, 2]]), {}],
      ["bytes", new Uint8Array([1, 2, 255]), "AQL/"],
      ["a Buffer", Buffer.from("hi"), "aGk="],
      ["bytes in a field", { name: "x", data: new Uint8Array([0]).buffer }, { name: "x", data: "AA==" }]
    ]
    it.effect.each(plain)("with %s settles with plain JSON", ([, value, result]) =>
      Effect.gen(function*() {
        const { outcome } = yield* execute("plain", { plain: () => Effect.succeed(value) })
        assert.deepStrictEqual(outcome, { _tag: "Succeeded", result })
      }))

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

    it.effect("with what its schema does not allow settles NotEncodable", () =>
      Effect.gen(function*() {
        const { outcome } = yield* execute("typed", { typed: () => Effect.succeed({ at: "tomorrow" }) })
        assert.strictEqual(outcome._tag, "NotEncodable")
      }))
  })

  describe("a long result", () => {
    it.effect("of 30,000 characters is left as it is", () =>
      Effect.gen(function*() {
        const { settlement } = yield* execute("plain", { plain: () => Effect.succeed("x".repeat(30_000)) })
        assert.deepStrictEqual(settlement, { outcome: { _tag: "Succeeded", result: "x".repeat(30_000) } })
      }))

    it.effect("keeps its head and tail, says what is missing and how long it was", () =>
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
        assert.strictEqual(settlement.originalSize, JSON.stringify(value).length)
        assert.strictEqual(settlement.outcome._tag, "Succeeded")
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

    it.effect("has another limit where the application sets one", () =>
      Effect.gen(function*() {
        const { settlement } = yield* execute("plain", { plain: () => Effect.succeed("x".repeat(200)) }).pipe(
          Effect.provideService(ToolExecutorToolkit.ResultLimit, 100)
        )
        assert.strictEqual(settlement.originalSize, 200)
      }))
  })

  describe("a handler that fails", () => {
    const error = { code: 7, at: Schema.decodeSync(Schema.DateTimeUtcFromString)("2026-01-02T00:00:00.000Z") }
    it.effect.each(["returning", "failing"] as const)(
      "typed, in the mode of %s, settles with its failure encoded",
      (name) =>
        Effect.gen(function*() {
          const { outcome } = yield* execute(name, { [name]: () => Effect.fail(error) })
          assert.deepStrictEqual(outcome, failed({ code: 7, at: "2026-01-02T00:00:00.000Z" }))
        })
    )

    it.effect("with what its schema does not allow settles with a sentence", () =>
      Effect.gen(function*() {
        const { outcome } = yield* execute("failing", { failing: () => Effect.fail({ code: "x" }) })
        assert.strictEqual(outcome._tag, "Failed")
        assert.isTrue(outcome._tag === "Failed" && typeof outcome.result === "string")
      }))

    it.effect("with what is nested too deeply settles with a sentence", () =>
      Effect.gen(function*() {
        const deep: unknown = JSON.parse("[".repeat(2000) + "]".repeat(2000))
        const { outcome } = yield* execute("plain", { plain: () => Effect.fail(deep) })
        assert.deepStrictEqual(outcome, failed("The tool failed: no reason given"))
      }))

    it.effect("with what its schema cannot write at once settles with a sentence", () =>
      Effect.gen(function*() {
        slowly = Effect.never
        const { outcome } = yield* Effect.ensuring(
          execute("late", { late: () => Effect.fail("no") }),
          Effect.sync(() => {
            slowly = Effect.void
          })
        )
        assert.deepStrictEqual(outcome, failed("The tool failed: no"))
      }))

    it.effect("with what its schema does not allow settles NotEncodable in the mode of returning", () =>
      Effect.gen(function*() {
        const { outcome } = yield* execute("returning", { returning: () => Effect.fail({ code: "x" }) })
        assert.strictEqual(outcome._tag, "NotEncodable")
      }))

    it.effect("with what a schema of its own did not allow settles NotEncodable", () =>
      Effect.gen(function*() {
        const { outcome } = yield* execute("plain", { plain: () => Schema.decodeUnknownEffect(Schema.String)(5) })
        assert.strictEqual(outcome._tag, "NotEncodable")
      }))

    it.effect("with a reason of effect/ai settles with what that says", () =>
      Effect.gen(function*() {
        const reason = new AiError.InternalProviderError({ description: "out of order" })
        const { outcome } = yield* execute("plain", { plain: () => Effect.fail(reason) })
        assert.deepStrictEqual(
          outcome,
          failed(AiError.make({ module: "Toolkit", method: "plain.handle", reason }).message)
        )
      }))

    const thrown: Array<[string, unknown, string]> = [
      ["an Error", new Error("boom"), "boom"],
      ["an Error without a message", new TypeError(), "TypeError"],
      ["a text", "boom", "boom"],
      ["undefined", undefined, "no reason given"],
      ["null", null, "no reason given"],
      ["an object without a prototype", Object.create(null), "no reason given"],
      [
        "an Error whose message throws",
        Object.defineProperty(new Error("x"), "message", {
          get: () => {
            throw new Error("no")
          }
        }),
        ""
      ]
    ]
    it.effect.each(thrown)("with a defect, %s, settles with a sentence", ([, defect, words]) =>
      Effect.gen(function*() {
        const { outcome } = yield* execute("plain", { plain: () => Effect.die(defect) })
        assert.isTrue(outcome._tag === "Failed" && typeof outcome.result === "string" && outcome.result.includes(words))
      }))

    it.effect.each(thrown.slice(0, 6))(
      "by throwing %s where it should give an effect settles with a sentence",
      ([, defect, words]) =>
        Effect.gen(function*() {
          const { outcome } = yield* execute("plain", {
            plain: () => {
              throw defect
            }
          })
          assert.isTrue(
            outcome._tag === "Failed" && typeof outcome.result === "string" && outcome.result.includes(words)
          )
        })
    )

    it.effect("by giving no effect at all settles with a sentence", () =>
      Effect.gen(function*() {
        const { outcome } = yield* execute("plain", { plain: () => "not an effect" })
        assert.strictEqual(outcome._tag, "Failed")
      }))

    it.effect("by interrupting itself settles with a sentence", () =>
      Effect.gen(function*() {
        const { outcome } = yield* execute("plain", { plain: () => Effect.interrupt })
        assert.deepStrictEqual(outcome, failed("The tool interrupted itself."))
      }))

    it.effect("keeps stacks out of what the model reads", () =>
      Effect.gen(function*() {
        const { outcome } = yield* execute("plain", { plain: () => Effect.die(new Error("boom")) })
        assert.notInclude(JSON.stringify(outcome), import.meta.filename)
      }))
  })

  describe("arguments", () => {
    const wrong: Array<[Schema.Json]> = [[{}], [{ n: "1" }], [null], [[]], ["{\"n\":"], ["{\"n\":1}"]]
    it.effect.each(wrong)("that do not fit, %j, settle InvalidArguments", ([params]) =>
      Effect.gen(function*() {
        const { outcome } = yield* execute("plain", { plain: unused }, { params })
        assert.strictEqual(outcome._tag, "InvalidArguments")
      }))

    it.effect.each(["nope", "", "toString", "__proto__", "constructor", "hasOwnProperty"])(
      "for the unknown tool %j settle UnknownTool",
      (name) =>
        Effect.gen(function*() {
          const { outcome } = yield* execute(name, {})
          assert.deepStrictEqual(outcome, { _tag: "UnknownTool", available: Object.keys(kit.tools) })
        })
    )

    it.effect("and results are in no span, whose nesting is right", () =>
      Effect.gen(function*() {
        const spans: Array<Tracer.NativeSpan> = []
        const tracer = Tracer.make({
          span: (options) => {
            const span = new Tracer.NativeSpan(options)
            spans.push(span)
            return span
          }
        })
        yield* execute("plain", {
          plain: () => Effect.succeed("secret result").pipe(Effect.withSpan("inside"))
        }, { params: { n: 424242 } }).pipe(Effect.withSpan("outside"), Effect.provideService(Tracer.Tracer, tracer))
        yield* execute("failing", { failing: () => Effect.fail({ code: 1 }) }, { params: { n: "424242" } }).pipe(
          Effect.withSpan("outside 2"),
          Effect.provideService(Tracer.Tracer, tracer)
        )
        const text = JSON.stringify(
          spans.map((
            span
          ) => [span.name, [...span.attributes], span.events.map(([name, , attributes]) => [name, attributes])])
        )
        assert.notInclude(text, "424242")
        assert.notInclude(text, "secret")
        const names = spans.map((span) => span.name)
        assert.includeMembers(names, ["outside", "inside"])
        const inside = spans.find((span) => span.name === "inside")
        assert.strictEqual(inside?.traceId, spans[0]?.traceId)
      }))

    it.effect("and results are in no span that a tracer shows to code as the active one", () =>
      Effect.gen(function*() {
        let active: Tracer.AnySpan | undefined
        const tracer = Tracer.make({
          span: (options) => new Tracer.NativeSpan(options),
          context: (primitive, fiber) => {
            const before = active
            active = fiber.cache.span
            try {
              return primitive["~effect/Effect/evaluate"](fiber)
            } finally {
              active = before
            }
          }
        })
        const seen: Array<Tracer.AnySpan["_tag"] | undefined> = []
        yield* execute("plain", {
          plain: () => {
            seen.push(active?._tag)
            return Effect.succeed(1)
          }
        }).pipe(Effect.withSpan("outside"), Effect.provideService(Tracer.Tracer, tracer))
        assert.deepStrictEqual(seen, ["ExternalSpan"])
      }))
  })

  describe("progress", () => {
    it.effect("comes in order and before the outcome", () =>
      Effect.gen(function*() {
        const { outcome, progress } = yield* execute("plain", {
          plain: (_: unknown, { preliminary }: { preliminary: (value: unknown) => Effect.Effect<void> }) =>
            Effect.as(Effect.forEach([1, 2, 3, 1n, 4], preliminary), "done")
        })
        assert.deepStrictEqual(progress, [1, 2, 3, 4])
        assert.deepStrictEqual(outcome, { _tag: "Succeeded", result: "done" })
      }))

    it.effect("that does not fit the schema settles NotEncodable", () =>
      Effect.gen(function*() {
        const { outcome, progress } = yield* execute("returning", {
          returning: (_: unknown, { preliminary }: { preliminary: (value: unknown) => Effect.Effect<void> }) =>
            Effect.as(Effect.andThen(preliminary("half"), preliminary(5)), "done")
        })
        assert.strictEqual(outcome._tag, "NotEncodable")
        assert.deepStrictEqual(progress, ["half"])
      }))

    it.effect("that does not fit the schema settles NotEncodable, also where the handler does not mind", () =>
      Effect.gen(function*() {
        const { outcome } = yield* execute("returning", {
          returning: (_: unknown, { preliminary }: { preliminary: (value: unknown) => Effect.Effect<void> }) =>
            Effect.as(Effect.ignoreCause(preliminary(5)), "done")
        })
        assert.strictEqual(outcome._tag, "NotEncodable")
      }))

    it.effect("of several fibers comes one after the other", () =>
      Effect.gen(function*() {
        const heard: Array<unknown> = []
        const [reached, release] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
        const fiber = yield* execute("plain", {
          plain: (_: unknown, { preliminary }: { preliminary: (value: unknown) => Effect.Effect<void> }) =>
            Effect.as(Effect.forEach([1, 2], preliminary, { concurrency: "unbounded" }), "done")
        }, {
          onProgress: (value) => {
            heard.push(value)
            return Effect.andThen(Deferred.succeed(reached, undefined), Deferred.await(release))
          }
        }).pipe(Effect.forkChild)
        yield* Deferred.await(reached)
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(heard, [1])
        yield* Deferred.succeed(release, undefined)
        const { progress } = yield* Fiber.join(fiber)
        assert.deepStrictEqual(progress, [1, 2])
      }))

    it.effect.each(
      [["result", Effect.succeed("done"), "Succeeded"], ["failure", Effect.fail("done"), "Failed"]] as const
    )(
      "that comes while the %s is written is not heard",
      ([, end, tag]) =>
        Effect.gen(function*() {
          const [reached, release] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
          slowly = Effect.andThen(Deferred.succeed(reached, undefined), Deferred.await(release))
          let late: Effect.Effect<void> = Effect.void
          const fiber = yield* execute("slow", {
            slow: (_: unknown, { preliminary }: { preliminary: (value: unknown) => Effect.Effect<void> }) => {
              late = preliminary("late")
              return end
            }
          }).pipe(Effect.forkChild)
          yield* Deferred.await(reached)
          slowly = Effect.void
          yield* late
          yield* Deferred.succeed(release, undefined)
          const { outcome, progress } = yield* Fiber.join(fiber)
          assert.deepStrictEqual(outcome, { _tag: tag, result: "done" })
          assert.deepStrictEqual(progress, [])
        })
    )

    it.effect("that comes when the time of the handler is over is not heard", () =>
      Effect.gen(function*() {
        let late: Effect.Effect<void> = Effect.void
        const fiber = yield* execute("plain", {
          plain: (_: unknown, { preliminary }: { preliminary: (value: unknown) => Effect.Effect<void> }) => {
            late = preliminary("late")
            return Effect.never
          }
        }, { timeout: "1 second" }).pipe(Effect.forkChild)
        yield* TestClock.adjust("1 second")
        const { progress } = yield* Fiber.join(fiber)
        yield* late
        assert.deepStrictEqual(progress, [])
      }))

    it.effect("that comes when the handler has ended is not heard", () =>
      Effect.gen(function*() {
        let late: Effect.Effect<void> = Effect.void
        const { progress } = yield* execute("plain", {
          plain: (_: unknown, { preliminary }: { preliminary: (value: unknown) => Effect.Effect<void> }) =>
            Effect.sync(() => {
              late = preliminary("late")
              return "done"
            })
        })
        yield* late
        assert.deepStrictEqual(progress, [])
      }))

    it.effect("makes a handler wait for a slow reader", () =>
      Effect.gen(function*() {
        const release = yield* Deferred.make<void>()
        const reached = yield* Deferred.make<void>()
        let made = 0
        const fiber = yield* execute("plain", {
          plain: (_: unknown, { preliminary }: { preliminary: (value: unknown) => Effect.Effect<void> }) =>
            Effect.as(
              Effect.forEach(
                Array.from({ length: 1000 }, (_, i) => i),
                (i) => Effect.andThen(preliminary(i), Effect.sync(() => made++))
              ),
              "done"
            )
        }, {
          onProgress: () => Effect.andThen(Deferred.succeed(reached, undefined), Deferred.await(release))
        }).pipe(Effect.forkChild)
        yield* Deferred.await(reached)
        yield* TestClock.adjust("1 second")
        assert.isBelow(made, 100)
        yield* Deferred.succeed(release, undefined)
        const { progress } = yield* Fiber.join(fiber)
        assert.strictEqual(progress.length, 1000)
      }))
  })

  describe("a handler that does not end", () => {
    const waiting = Effect.sync(() => {
      const started = Deferred.makeUnsafe<void>()
      let finalized = 0
      const handler = () =>
        Effect.andThen(Deferred.succeed(started, undefined), Effect.never).pipe(
          Effect.onInterrupt(() => Effect.sync(() => finalized++))
        )
      return { handler, started: Deferred.await(started), finalized: () => finalized }
    })

    it.effect("is interrupted when its time is over, finalized, and settles TimedOut", () =>
      Effect.gen(function*() {
        const { finalized, handler, started } = yield* waiting
        const fiber = yield* Effect.forkChild(execute("plain", { plain: handler }, { timeout: "10 seconds" }))
        yield* started
        yield* TestClock.adjust("10 seconds")
        const { leftBehind, outcome } = yield* Fiber.join(fiber)
        assert.strictEqual(finalized(), 1)
        assert.deepStrictEqual(outcome, { _tag: "TimedOut", limit: 10_000 })
        assert.deepStrictEqual(leftBehind, [])
      }))

    it.effect("passes our own interruption on to its finalizers", () =>
      Effect.gen(function*() {
        const { finalized, handler, started } = yield* waiting
        const fiber = yield* Effect.forkChild(execute("plain", { plain: handler }))
        yield* started
        yield* Fiber.interrupt(fiber)
        assert.strictEqual(finalized(), 1)
        assert.strictEqual((yield* Fiber.await(fiber))._tag, "Failure")
      }))

    it.effect.each([["plain", "OutcomeUnknown", "OutcomeUnknown"], ["look", "TimedOut", "Interrupted"]] as const)(
      "and ignores its interruption is left behind after the grace period: %s is %s",
      ([name, outcome, told]) =>
        Effect.gen(function*() {
          const started = yield* Deferred.make<void>()
          const release = yield* Deferred.make<void>()
          const handler = () =>
            Effect.uninterruptible(Effect.andThen(Deferred.succeed(started, undefined), Deferred.await(release)))
          const fiber = yield* Effect.forkChild(execute(name, { [name]: handler }, { timeout: "10 seconds" }))
          yield* Deferred.await(started)
          yield* TestClock.adjust("14999 millis")
          assert.isUndefined(fiber.pollUnsafe())
          yield* TestClock.adjust("1 millis")
          const ran = yield* Fiber.join(fiber)
          assert.strictEqual(ran.outcome._tag, outcome)
          assert.deepStrictEqual(ran.leftBehind.map((left) => left._tag), [told])
          yield* Deferred.succeed(release, undefined)
        })
    )

    it.effect("in time is not held to anything longer", () =>
      Effect.gen(function*() {
        const { outcome } = yield* execute("plain", { plain: () => Effect.succeed(1) }, { timeout: Infinity })
        assert.deepStrictEqual(outcome, { _tag: "Succeeded", result: 1 })
      }))
  })
})

class Suffix extends Context.Service<Suffix, string>()("test/Suffix") {}

class Unneeded extends Context.Service<Unneeded, {}>()("test/Unneeded") {}

it.effect("the layer needs nothing and gives the executor", () =>
  Effect.gen(function*() {
    const context = yield* Layer.build(ToolExecutorToolkit.layer)
    assert.isFalse(Context.getOption(context, Unneeded)._tag === "Some")
  }))

it.effect.each<readonly [string, ToolExecutor.Handlers["handle"], string]>([
  ["throws", () => {
    throw new Error("no effect at all")
  }, "The tool failed unexpectedly: no effect at all"],
  ["gives nothing", () => Effect.succeed(Stream.empty), "The tool ended without a result."]
])("a handle of somebody's own making that %s settles with a sentence", ([, handle, words]) =>
  Effect.gen(function*() {
    const handlers: ToolExecutor.Handlers = { tools: kit.tools, handle }
    const identity = { sessionId: "s", runId: "r", callId: "1.0", idempotencyKey: "k", attempt: 1, data: undefined }
    const settlement = yield* ToolExecutorToolkit.make.execute(
      handlers,
      { name: "plain", params: { n: 1 }, timeout: Duration.seconds(1), identity },
      { progress: () => Effect.void, leftBehind: () => Effect.void }
    )
    assert.deepStrictEqual(settlement, { outcome: failed(words) })
  }))
