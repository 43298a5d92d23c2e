/** Tool calls as the fragments that providers send: which fragment belongs to which call, ids and arguments. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as OpenAi from "../support/OpenAiServer.ts"

type Call = { readonly id: string; readonly name: string; readonly params: unknown }

/** The calls assembled from chunks, each given as the list of its fragments. */
const callsOf = (...chunks: ReadonlyArray<ReadonlyArray<object>>) =>
  Effect.map(
    OpenAi.answer(OpenAi.events(
      OpenAi.data(...chunks.map((fragments) => OpenAi.toolCalls(...fragments)), OpenAi.finish("tool_calls")) +
        OpenAi.done
    )),
    ({ error, parts }) => {
      assert.isUndefined(error)
      return OpenAi.calls(parts)
    }
  )

const fn = (name: string | undefined, args?: unknown) => ({
  function: { ...(name === undefined ? {} : { name }), ...(args === undefined ? {} : { arguments: args }) }
})
const call = (id: string, name: string, params: unknown): Call => ({ id, name, params })
const oslo = "{\"city\":\"Oslo\"}"
const rome = "{\"city\":\"Rome\"}"
const both = [call("a", "f", { city: "Oslo" }), call("b", "g", { city: "Rome" })]

describe("fragments are assembled", () => {
  it.effect.each<readonly [string, ReadonlyArray<ReadonlyArray<object>>, ReadonlyArray<Call>]>([
    ["by index", [
      [{ index: 0, id: "a", type: "function", ...fn("f", "") }],
      [{ index: 0, ...fn(undefined, "{\"city\"") }],
      [{ index: 0, ...fn(undefined, ":\"Oslo\"}") }],
      [{ index: 1, id: "b", type: "function", ...fn("g", "") }],
      [{ index: 1, ...fn(undefined, rome) }]
    ], both],
    ["by index, interleaved", [
      [{ index: 0, id: "a", ...fn("f") }, { index: 1, id: "b", ...fn("g") }],
      [{ index: 1, ...fn(undefined, "{\"city\":") }, { index: 0, ...fn(undefined, "{\"city\":") }],
      [{ index: 0, ...fn(undefined, "\"Oslo\"}") }],
      [{ index: 1, ...fn(undefined, "\"Rome\"}") }]
    ], both],
    ["by position, when neither index nor id tells them apart", [
      [{ id: "a", ...fn("f", "") }, { id: "b", ...fn("g", "") }],
      [fn(undefined, "{\"city\":"), fn(undefined, "{\"city\":")],
      [fn(undefined, "\"Oslo\"}"), fn(undefined, "\"Rome\"}")]
    ], both],
    ["by their order, when the last call began alone", [
      [{ id: "a", ...fn("f", oslo) }, { id: "b", ...fn("g", rome) }],
      [{ id: "c", ...fn("h", "") }],
      [fn(undefined, "{\"city\":"), fn(undefined, "\"Rome\"}")]
    ], [...both, call("c", "h", { city: "Rome" })]],
    ["by their order after a call that began in the same chunk", [
      [{ id: "a", ...fn("f", "{\"city\":") }, fn(undefined, "\"Oslo\"}")],
      [{ id: "b", ...fn("g", "{\"city\":") }],
      [fn(undefined, "\"Ro"), fn(undefined, "me\"}")]
    ], both],
    ["by id without index, interleaved", [
      [{ id: "a", ...fn("f", "{\"city\":") }],
      [{ id: "b", ...fn("g", "{\"city\":") }],
      [{ id: "a", ...fn(undefined, "\"Oslo\"}") }],
      [{ id: "b", ...fn(undefined, "\"Rome\"}") }]
    ], both],
    ["by id when every index is 0", [
      [{ index: 0, id: "a", ...fn("f", "{\"city\":") }],
      [{ index: 0, id: "b", ...fn("f", "{\"city\":") }],
      [{ index: 0, id: "a", ...fn(undefined, "\"Oslo\"}") }],
      [{ index: 0, id: "b", ...fn(undefined, "\"Rome\"}") }]
    ], [call("a", "f", { city: "Oslo" }), call("b", "f", { city: "Rome" })]],
    ["as whole calls when every index is 0", [
      [{ index: 0, id: "a", ...fn("f", oslo) }],
      [{ index: 0, id: "b", ...fn("g", rome) }]
    ], both],
    ["without index, and without id in later fragments", [
      [{ id: "a", ...fn("f", "{\"city\":") }],
      [{ ...fn(undefined, "\"Oslo\"}") }],
      [{ id: "b", ...fn("g", "") }],
      [{ id: "", ...fn("", rome) }]
    ], both],
    ["with id and name in every fragment", [
      [{ index: 0, id: "a", ...fn("f", "") }],
      [{ index: 0, id: "a", ...fn("f", "{\"city\":") }],
      [{ index: 0, id: "a", ...fn("f", "\"Oslo\"}") }],
      [{ index: 0, id: "a", ...fn("f", "") }],
      [{ index: 1, id: "b", ...fn("g", rome) }]
    ], both],
    ["with another id in every fragment", [
      [{ index: 0, id: "a", ...fn("f", "{\"city\":") }],
      [{ index: 0, id: "x", ...fn(undefined, "\"Oslo\"}") }],
      [{ index: 1, id: "b", ...fn("g", rome) }]
    ], both],
    ["with the id after the name", [
      [{ index: 0, ...fn("f") }, { index: 1, ...fn("g") }],
      [{ index: 0, id: "a", ...fn(undefined, oslo) }, { index: 1, id: "b", ...fn(undefined, rome) }]
    ], both],
    ["with the name after the arguments", [
      [{ index: 0, id: "a", ...fn(undefined, "{\"city\":") }],
      [{ index: 0, ...fn("f", "\"Oslo\"}") }],
      [{ index: 1, id: "b", ...fn("g", rome) }]
    ], both],
    ["with a name in pieces", [
      [{ index: 0, id: "a", ...fn("get_") }],
      [{ index: 0, ...fn("weather") }],
      [{ index: 0, ...fn(undefined, oslo) }]
    ], [call("a", "get_weather", { city: "Oslo" })]],
    ["by an index that is a string, interleaved", [
      [{ index: "0", id: "a", ...fn("f", "{\"city\":") }, { index: "1", id: "b", ...fn("g", "{\"city\":") }],
      [{ index: "0", ...fn(undefined, "\"Oslo\"}") }, { index: "1", ...fn(undefined, "\"Rome\"}") }]
    ], both],
    ["without index and id, name before arguments", [
      [fn("f", "")],
      [fn(undefined, oslo)],
      [fn("f", "")],
      [fn(undefined, rome)]
    ], [call("call_0", "f", { city: "Oslo" }), call("call_1", "f", { city: "Rome" })]],
    ["without an id, the name in every fragment, the last one empty", [
      [{ index: 0, ...fn("f", "") }],
      [{ index: 0, ...fn("f", oslo) }],
      [{ index: 0, ...fn("f", "") }]
    ], [call("call_0", "f", { city: "Oslo" })]],
    ["as two equal calls without arguments, with their own ids and indices", [
      [{ index: 0, ...fn("now", "") }],
      [{ index: 0, ...fn("now", "") }]
    ], [call("call_0", "now", {}), call("call_1", "now", {})]],
    ["without id or arguments, the name in pieces", [
      [{ index: 0, ...fn("get_", "") }],
      [{ index: 0, ...fn("weather", "") }]
    ], [call("call_0", "get_weather", {})]],
    ["with one id, the name in every fragment, and no arguments", [
      [{ index: 0, id: "a", ...fn("now", "") }],
      [{ index: 0, id: "a", ...fn("now", "") }]
    ], [call("a", "now", {})]],
    ["out of order and with gaps in the index", [
      [{ index: 7, id: "a", ...fn("f", "{\"city\":") }],
      [{ index: 3, id: "b", ...fn("g", rome) }],
      [{ index: 7, ...fn(undefined, "\"Oslo\"}") }]
    ], both]
  ])("%s", ([, chunks, expected]) =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* callsOf(...chunks), expected)
    }))

  it.effect("from the legacy function_call too", () =>
    Effect.gen(function*() {
      const { parts } = yield* OpenAi.answer(OpenAi.events(OpenAi.data(
        OpenAi.delta({ function_call: { name: "f", arguments: "{\"city\":" } }),
        OpenAi.delta({ function_call: { arguments: "\"Oslo\"}" } }),
        OpenAi.finish("function_call")
      )))
      assert.deepStrictEqual(OpenAi.calls(parts), [call("call_0", "f", { city: "Oslo" })])
      assert.strictEqual(OpenAi.finishOf(parts)?.reason, "tool-calls")
    }))

  it.effect("and their deltas carry the call's id and join to its arguments", () =>
    Effect.gen(function*() {
      const { parts } = yield* OpenAi.answer(OpenAi.events(OpenAi.data(
        OpenAi.toolCalls({ index: 0, ...fn("f", "{\"ci") }),
        OpenAi.toolCalls({ index: 0, ...fn(undefined, "ty\":1}") }),
        OpenAi.finish("tool_calls")
      )))
      const ids = parts.flatMap((part) => part.type.startsWith("tool-") && "id" in part ? [part.id] : [])
      assert.deepStrictEqual(new Set(ids), new Set(["call_0"]))
      const deltas = parts.flatMap((part) => part.type === "tool-params-delta" ? [part.delta] : [])
      assert.deepStrictEqual(deltas, ["{\"ci", "ty\":1}"])
    }))
})

describe("ids", () => {
  const ids = (...chunks: ReadonlyArray<ReadonlyArray<object>>) =>
    Effect.map(callsOf(...chunks), (calls) => calls.map((_) => [_.id, _.name]))

  it.effect.each<readonly [string, ReadonlyArray<ReadonlyArray<object>>, ReadonlyArray<readonly [string, string]>]>([
    ["empty", [[{ index: 0, id: "", ...fn("f", oslo) }], [{ index: 1, id: "", ...fn("g", rome) }]], [
      ["call_0", "f"],
      ["call_1", "g"]
    ]],
    ["absent, as are the indices", [[fn("f", oslo), fn("g", rome)], [fn("f", oslo)]], [
      ["call_0", "f"],
      ["call_1", "g"],
      ["call_2", "f"]
    ]],
    ["the same for all", [[{ index: 0, id: "x", ...fn("f", oslo) }], [{ index: 1, id: "x", ...fn("g", rome) }]], [
      ["x", "f"],
      ["call_1", "g"]
    ]],
    ["the same for all, as is the index", [
      [{ index: 0, id: "x", ...fn("f", oslo) }],
      [{ index: 0, id: "x", ...fn("f", rome) }],
      [{ index: 0, id: "x", ...fn("g", rome) }]
    ], [["x", "f"], ["call_1", "f"], ["call_2", "g"]]],
    ["the same for all and like derived ones", [
      [{ index: 0, id: "call_1", ...fn("f", oslo) }],
      [{ index: 1, id: "call_1", ...fn("g", rome) }],
      [{ index: 2, id: "call_2", ...fn("h", rome) }]
    ], [["call_1", "f"], ["call_2", "g"], ["call_3", "h"]]],
    ["absent for two equal calls without arguments", [[fn("now"), fn("now")]], [["call_0", "now"], ["call_1", "now"]]]
  ])("%s", ([, chunks, expected]) =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* ids(...chunks), expected.map((_) => [..._]))
    }))
})

describe("arguments", () => {
  it.effect.each<readonly [string, unknown, unknown]>([
    ["absent", undefined, {}],
    ["null", null, {}],
    ["empty", "", {}],
    ["blank", " \n", {}],
    ["the text null", "null", {}],
    ["an empty list", [], {}],
    ["an object", { city: "Oslo" }, { city: "Oslo" }],
    ["encoded twice", JSON.stringify(oslo), { city: "Oslo" }],
    ["an empty text encoded twice", "\"\"", {}],
    ["cut", "{\"city\":\"Os", "{\"city\":\"Os"],
    ["prose", "Oslo, please", "Oslo, please"],
    ["prose encoded twice", "\"Oslo\"", "\"Oslo\""],
    ["a poisoned prototype", "{\"__proto__\":{\"a\":1}}", "{\"__proto__\":{\"a\":1}}"]
  ])("%s", ([, args, params]) =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* callsOf([{ index: 0, id: "a", ...fn("f", args) }]), [call("a", "f", params)])
    }))
})

describe("incomplete calls", () => {
  it.effect("fragments with neither name nor arguments are dropped", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* callsOf([{ index: 0 }, { index: 1, id: "b", ...fn("g", rome) }]), [
        call("b", "g", { city: "Rome" })
      ])
    }))

  it.effect("arguments without a name are an invalid response", () =>
    Effect.gen(function*() {
      const { error, parts } = yield* OpenAi.answer(OpenAi.events(OpenAi.data(
        OpenAi.toolCalls({ index: 0, id: "a", ...fn("f", oslo) }, { index: 1, ...fn(undefined, rome) }),
        OpenAi.finish("tool_calls")
      )))
      assert.strictEqual(error?.reason._tag, "InvalidResponseError")
      assert.notInclude(OpenAi.types(parts), "tool-call")
    }))

  it.effect("calls are also emitted with finish reason length, cut arguments as text", () =>
    Effect.gen(function*() {
      const { parts } = yield* OpenAi.answer(OpenAi.events(OpenAi.data(
        OpenAi.toolCalls({ index: 0, id: "a", ...fn("f", "{\"city\":") }),
        OpenAi.finish("length")
      )))
      assert.deepStrictEqual(OpenAi.calls(parts), [call("a", "f", "{\"city\":")])
      assert.strictEqual(OpenAi.finishOf(parts)?.reason, "length")
    }))
})
