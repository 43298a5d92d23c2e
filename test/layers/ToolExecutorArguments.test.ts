/** What deviates from a tool's schemas: arguments that do not fit, nulls, and a result from a person. */
import { assert, describe, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as SchemaGetter from "effect/SchemaGetter"
import * as Tracer from "effect/Tracer"
import * as ToolExecutorToolkit from "../../src/layers/ToolExecutorToolkit.ts"
import { NeedsResult } from "../../src/services/NeedsResult.ts"
import type * as ToolExecutor from "../../src/services/ToolExecutor.ts"
import * as ToolRun from "../support/ToolRun.ts"
import * as Traces from "../support/Traces.ts"

class Suffix extends Context.Service<Suffix, string>()("test/Suffix") {}

describe.each(ToolRun.ways)("handlers that are %s", (way) => {
  const { execute } = ToolRun.by(way)

  describe("arguments", () => {
    const wrong: Array<[Schema.Json]> = [[{}], [{ n: "1" }], [null], [[]], ["{\"n\":"], ["{\"n\":1}"]]
    it.effect.each(wrong)("that do not fit, %j, settle InvalidArguments", ([params]) =>
      Effect.gen(function*() {
        const { outcome } = yield* execute("plain", { plain: ToolRun.unused }, { params })
        assert.strictEqual(outcome._tag, "InvalidArguments")
      }))

    it.effect("that do not fit are explained in no more characters than a result may have", () =>
      Effect.gen(function*() {
        const { outcome } = yield* execute("plain", { plain: ToolRun.unused }, { params: { n: "1" } }).pipe(
          Effect.provideService(ToolExecutorToolkit.ResultLimit, 10)
        )
        assert.strictEqual(outcome._tag, "InvalidArguments")
        if (outcome._tag === "InvalidArguments") {
          assert.match(outcome.message, /^.{1,5}\n… \[\d+ of \d+ characters left out\] …\n.{1,5}$/)
        }
      }))

    it.effect.each(["nope", "", "toString", "__proto__", "constructor", "hasOwnProperty"])(
      "for the unknown tool %j settle UnknownTool",
      (name) =>
        Effect.gen(function*() {
          const { outcome } = yield* execute(name, {})
          assert.deepStrictEqual(outcome, { _tag: "UnknownTool", available: Object.keys(ToolRun.kit.tools) })
        })
    )

    it.effect("and results are in no span, and spans stay nested", () =>
      Effect.gen(function*() {
        const { spans, tracer } = Traces.make()
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

    it.effect("and results are in no span that a tracer makes active for the handler", () =>
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

  describe("null for an optional property", () => {
    const search = (params: Schema.JsonObject) =>
      Effect.map(
        execute("search", { search: (given: unknown) => Effect.succeed(given) }, { params }),
        ({ outcome }) => outcome
      )
    const base = { q: "a", after: null, page: 2 }

    it.effect.each<readonly [string, Schema.JsonObject, Schema.JsonObject]>([
      ["that may be left out", { ...base, limit: null }, base],
      ["of several types", { ...base, limit: null, sort: null, near: null, places: null, by: null }, base],
      ["with a default", { ...base, page: null }, { ...base, page: 1 }],
      ["in an object", { ...base, near: { city: "Oslo", zip: null } }, { ...base, near: { city: "Oslo" } }],
      ["in a list", { ...base, places: [{ city: "Oslo", zip: null }] }, { ...base, places: [{ city: "Oslo" }] }],
      ["in one of several shapes", { ...base, by: { kind: "name", name: null } }, { ...base, by: { kind: "name" } }],
      ["beside one that accepts null", { ...base, limit: null, label: null }, { ...base, label: null }]
    ])("%s counts as left out", ([, params, seen]) =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* search(params), { _tag: "Succeeded", result: seen })
      }))

    it.effect("that accepts null stays null", () =>
      Effect.gen(function*() {
        const given = { ...base, label: null }
        assert.deepStrictEqual(yield* search(given), { _tag: "Succeeded", result: given })
      }))

    it.effect.each<readonly [string, Schema.JsonObject, string]>([
      ["a required property", { ...base, limit: null, q: null }, `["q"]`],
      ["an entry of a record", { ...base, weights: { a: null } }, `["weights"]["a"]`],
      ["an item of a list", { ...base, places: [null] }, `["places"][0]`],
      ["a required property in an object", { ...base, near: { city: null } }, `["near"]["city"]`]
    ])("is not accepted for %s", ([, params, place]) =>
      Effect.gen(function*() {
        const outcome = yield* search(params)
        assert.strictEqual(outcome._tag, "InvalidArguments")
        assert.include(outcome._tag === "InvalidArguments" ? outcome.message : "", `at ${place}`)
      }))

    it.effect("is left out for the approval rule and the check of arguments, as for the handler", () =>
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
    ])("is decoded and encoded again by the tool's schema: %j", ([success, given, result]) =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* answered(Tool.make("ask", { success }), given), { result })
      }))

    it.effect("is refused when the schema does not accept it, saying where", () =>
      Effect.gen(function*() {
        const success = Schema.Struct({ answer: Schema.String })
        const words = yield* Effect.flip(answered(Tool.make("ask", { success }), { answer: 1 }))
        assert.match(words, /answer/)
        assert.match(yield* Effect.flip(answered(Tool.make("ask", {}), "no result at all")), /./)
        const handlers = { tools: {} } as unknown as ToolExecutor.Handlers
        const none = yield* Effect.flip(ToolExecutorToolkit.make.answeredWith(handlers, "ask", 1))
        assert.strictEqual(none, "this agent has no such tool; decide with the agent that asked")
      }))

    it.effect("is truncated, with its original size", () =>
      Effect.gen(function*() {
        const given = yield* answered(Tool.make("ask", { success: Schema.String }), "x".repeat(100), 50)
        assert.strictEqual(given.originalSize, 100)
        assert.notStrictEqual(given.result, "x".repeat(100))
      }))

    /** Gives "yes" to a tool whose handler has the suffix "!". */
    const answeredYes = Effect.gen(function*() {
      const success = Schema.String.pipe(Schema.decodeTo(Schema.String, {
        decode: SchemaGetter.transformEffect((text: string) => Effect.map(Suffix, (suffix) => text + suffix)),
        encode: SchemaGetter.transform((text: string) => text)
      }))
      const asking = Toolkit.make(Tool.make("ask", { success }))
      const layer = asking.toLayer({ ask: () => Effect.succeed("") })
      const foundIn = yield* Layer.build(Layer.provide(layer, Layer.succeed(Suffix, "!")))
      const handlers = { tools: asking.tools, foundIn } as unknown as ToolExecutor.Handlers
      return yield* ToolExecutorToolkit.make.answeredWith(handlers, "ask", "yes")
    })

    it.effect("is decoded with the services of the tool's handler", () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* answeredYes, { result: "yes!" })
      }))

    it.effect("is decoded with the caller's services instead of them, as in a call", () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* Effect.provideService(answeredYes, Suffix, "?"), { result: "yes?" })
      }))

    it.effect("is needed when the tool says so, and then every call of it asks", () =>
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
})
