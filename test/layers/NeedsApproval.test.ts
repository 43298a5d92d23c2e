/** Which calls need a person's permission: what a tool says, what the policy says, and what happens when asking fails. */
import { assert, describe, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as SchemaGetter from "effect/SchemaGetter"
import * as ToolExecutorToolkit from "../../src/layers/ToolExecutorToolkit.ts"
import * as Message from "../../src/run/Message.ts"
import { ResultLimit } from "../../src/services/ResultLimit.ts"
import type * as ToolExecutor from "../../src/services/ToolExecutor.ts"

const At = Schema.Struct({ at: Schema.DateTimeUtcFromString })
const plain = Tool.make("tool", { parameters: At, success: Schema.String })
const good = { at: "2026-01-01T00:00:00.000Z" }

const identity = { sessionId: "s", runId: "r", callId: "1.0", idempotencyKey: "k", attempt: 1, data: undefined }

const handlersOf = (tool: Tool.Any): Effect.Effect<ToolExecutor.Handlers> => {
  const kit = Toolkit.make(tool)
  const layer = kit.toLayer({ [tool.name]: () => Effect.succeed("ok") } as never)
  return Effect.provide(kit, layer) as never
}

/** Whether a call of `tool` asks. */
const asks = Effect.fnUntraced(function*(
  tool: Tool.Any,
  given: Partial<ToolExecutor.Candidate> & { readonly byDefault?: boolean } = {}
): Effect.fn.Return<ToolExecutor.Asks> {
  const { byDefault = false, ...candidate } = given
  const handlers = yield* handlersOf(tool)
  const call = { name: tool.name, params: good, callId: "1.0", messages: () => [], ...candidate }
  return yield* ToolExecutorToolkit.make.needsApproval(handlers, call, byDefault)
})

const ruled = (rule: Tool.NeedsApprovalFunction<typeof At>) => plain.setNeedsApproval(rule)

describe("a tool", () => {
  const cases: ReadonlyArray<readonly [string, Tool.Any, byDefault: boolean, expected: boolean]> = [
    ["that says nothing does not ask", plain, false, false],
    ["that says nothing asks when the policy asks by default", plain, true, true],
    ["that says true asks", plain.setNeedsApproval(true), false, true],
    ["that says false does not ask even if the policy asks by default", plain.setNeedsApproval(false), true, false],
    ["explicitly annotated as destructive asks", plain.annotate(Tool.Destructive, true), false, true],
    [
      "explicitly annotated as destructive asks although it says false",
      plain.setNeedsApproval(false).annotate(Tool.Destructive, true),
      false,
      true
    ],
    ["explicitly annotated as not destructive does not ask", plain.annotate(Tool.Destructive, false), false, false],
    ["with another annotation is not destructive by default", plain.annotate(Tool.Readonly, true), false, false],
    ["whose rule says true asks", ruled(() => true), false, true],
    ["whose rule says false does not ask even if the policy asks by default", ruled(() => false), true, false],
    ["whose rule's effect says true asks", ruled(() => Effect.succeed(true)), false, true],
    ["whose rule's effect says false does not ask", ruled(() => Effect.succeed(false)), false, false],
    [
      "explicitly annotated as destructive asks although its rule says false",
      ruled(() => false).annotate(Tool.Destructive, true),
      false,
      true
    ],
    [
      "whose rule throws asks",
      ruled(() => {
        throw new Error("bug")
      }),
      false,
      true
    ],
    ["whose rule gives a promise asks", ruled((() => Promise.resolve(false)) as never), false, true],
    ["whose rule gives an object asks", ruled((() => ({ _tag: "Succeeded", result: 1 })) as never), false, true],
    ["whose rule's effect gives an object asks", ruled((() => Effect.succeed({ asks: false })) as never), false, true],
    ["whose rule gives nothing asks", ruled((() => undefined) as never), false, true],
    ["whose rule dies asks", ruled(() => Effect.die("bug")), false, true],
    ["whose rule fails contrary to its type asks", ruled(() => Effect.fail("no") as never), false, true],
    ["whose rule interrupts itself asks", ruled(() => Effect.interrupt), false, true]
  ]
  for (const [name, tool, byDefault, expected] of cases) {
    it.effect(name, () =>
      Effect.gen(function*() {
        assert.strictEqual(yield* asks(tool, { byDefault }), expected)
      }))
  }
})

describe("a rule", () => {
  it.effect("gets the decoded arguments and the call's id", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      yield* asks(
        ruled(({ at }, { toolCallId }) => {
          seen.push(at.epochMilliseconds, toolCallId)
          return true
        }),
        { callId: "3.1" }
      )
      assert.deepStrictEqual(seen, [Date.parse(good.at), "3.1"])
    }))

  it.effect("gets the messages in effect/ai's form", () =>
    Effect.gen(function*() {
      const seen: Array<string> = []
      yield* asks(
        ruled((_, { messages }) => {
          seen.push(...messages.map((message) => message.role))
          return true
        }),
        { messages: () => [Message.user("go")] }
      )
      assert.deepStrictEqual(seen, ["user"])
    }))

  it.effect("makes the call ask when preparing its messages fails", () =>
    Effect.gen(function*() {
      const messages = () => {
        throw new Error("bug")
      }
      assert.isTrue(yield* asks(ruled(() => false), { messages }))
    }))

  it.effect("costs no messages when the answer is fixed", () =>
    Effect.gen(function*() {
      let made = 0
      yield* asks(plain.setNeedsApproval(true), { messages: () => (made++, []) })
      assert.strictEqual(made, 0)
    }))

  it.effect("of a tool made at run time gets the raw arguments", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      const tool = Tool.dynamic("tool", {
        parameters: { type: "object", properties: {} },
        needsApproval: (params: unknown) => {
          seen.push(params)
          return true
        }
      })
      assert.isTrue(yield* asks(tool, { params: { any: 1 } }))
      assert.deepStrictEqual(seen, [{ any: 1 }])
    }))
})

describe("a call that will not run", () => {
  it.effect("is settled as it would be if it ran when its arguments do not decode", () =>
    Effect.gen(function*() {
      for (const params of [{ at: "never" }, {}, null, "{\"at\":", []]) {
        const call = { name: "tool", params, timeout: Duration.seconds(1), identity }
        const observer = { progress: () => Effect.void, leftBehind: () => Effect.void }
        const ran = yield* ToolExecutorToolkit.make.execute(yield* handlersOf(plain), call, observer)
        const outcome = "outcome" in ran ? ran.outcome : undefined
        assert.strictEqual(outcome?._tag, "InvalidArguments")
        for (const tool of [plain.setNeedsApproval(true), plain.annotate(Tool.Destructive, true), ruled(() => true)]) {
          assert.deepStrictEqual<unknown>(yield* asks(tool, { params }), outcome)
        }
      }
    }))

  it.effect("is told no more of what is wrong with its arguments than of a result", () =>
    Effect.gen(function*() {
      const long = { at: "x".repeat(10_000) }
      const told = yield* Effect.provideService(asks(plain.setNeedsApproval(true), { params: long }), ResultLimit, 100)
      assert.isTrue(typeof told === "object" && told._tag === "InvalidArguments")
      assert.isBelow(JSON.stringify(told).length, 1_000)
    }))

  it.effect("does not ask when its tool is unknown, even with a name that every object has", () =>
    Effect.gen(function*() {
      for (const name of ["other", "toString", "constructor", "__proto__"]) {
        assert.isFalse(yield* asks(plain.setNeedsApproval(true), { name, byDefault: true }), name)
      }
    }))
})

it.effect("arguments are read with the services of the tool's handler", () =>
  Effect.gen(function*() {
    class Suffix extends Context.Service<Suffix, string>()("test/Suffix") {}
    const parameters = Schema.Struct({
      text: Schema.String.pipe(Schema.decodeTo(Schema.String, {
        decode: SchemaGetter.transformEffect((text: string) => Effect.map(Suffix, (suffix) => text + suffix)),
        encode: SchemaGetter.passthrough()
      }))
    })
    const seen: Array<unknown> = []
    const kit = Toolkit.make(Tool.make("tool", {
      parameters,
      success: Schema.String,
      needsApproval: ({ text }) => seen.push(text) > 9
    }))
    const layer = Layer.provide(kit.toLayer({ tool: () => Effect.succeed("ok") }), Layer.succeed(Suffix, "!"))
    const handlers = { tools: kit.tools, foundIn: yield* Layer.build(layer) } as unknown as ToolExecutor.Handlers
    const call = { name: "tool", params: { text: "a" }, callId: "1.0", messages: () => [] }
    const needsApproval = ToolExecutorToolkit.make.needsApproval(handlers, call, false)
    assert.isFalse(yield* needsApproval)
    yield* Effect.provideService(needsApproval, Suffix, "?")
    assert.deepStrictEqual(seen, ["a!", "a?"])
  }))

it.effect("a decoder that dies makes the call ask", () =>
  Effect.gen(function*() {
    const parameters = Schema.Struct({
      n: Schema.String.pipe(Schema.decodeTo(Schema.String, {
        decode: SchemaGetter.transform((): string => {
          throw new Error("bug")
        }),
        encode: SchemaGetter.passthrough()
      }))
    })
    const tool = Tool.make("tool", { parameters, success: Schema.String, needsApproval: true })
    assert.isTrue(yield* asks(tool, { params: { n: "x" } }))
  }))
