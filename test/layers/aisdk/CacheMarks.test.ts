import type { LanguageModelV4CallOptions, LanguageModelV4Message } from "@ai-sdk/provider"
import { assert, describe, it } from "@effect/vitest"
import * as CacheMarks from "../../../src/layers/aisdk/CacheMarks.ts"

type Roles = ReadonlyArray<LanguageModelV4Message["role"]>

const message = (role: Roles[number]): LanguageModelV4Message =>
  role === "system"
    ? { role, content: "Be brief." }
    : role === "tool"
    ? { role, content: [{ type: "tool-result", toolCallId: "c", toolName: "t", output: { type: "text", value: "x" } }] }
    : { role, content: [{ type: "text", text: "x" }] }

const call = (...roles: Roles): LanguageModelV4CallOptions => ({ prompt: roles.map(message) })

/** The indexes of the marked messages. */
const marked = (...roles: Roles) =>
  CacheMarks.add(call(...roles), "ephemeral").prompt.flatMap((one, at) => one.providerOptions === undefined ? [] : [at])

describe("the marked messages", () => {
  it("are the last system message, the one before the last answer, and the last one", () => {
    assert.deepStrictEqual(marked("system", "system", "user", "assistant", "tool", "assistant", "tool", "user"), [
      1,
      4,
      7
    ])
    assert.deepStrictEqual(marked("system", "user"), [0, 1])
    assert.deepStrictEqual(marked("user", "assistant", "user"), [0, 2])
  })

  it("are never a model's own", () => {
    assert.deepStrictEqual(marked("system", "assistant", "user", "assistant"), [0, 2])
  })

  it("are none for system messages alone and for an empty prompt", () => {
    assert.deepStrictEqual([marked("system"), marked()], [[], []])
  })
})

it("an application's own options stay and override the mark", () => {
  const own = { anthropic: { cacheControl: { type: "ephemeral", ttl: "1h" }, other: 1 }, openai: { a: 2 } }
  const prompt = [{ ...message("user"), providerOptions: own }]
  assert.deepStrictEqual(CacheMarks.add({ prompt }, "ephemeral").prompt[0]?.providerOptions, own)
  const { prompt: [added] } = CacheMarks.add({ prompt }, { bedrock: { cachePoint: { type: "default" } } })
  assert.deepStrictEqual(added?.providerOptions, { ...own, bedrock: { cachePoint: { type: "default" } } })
})

it("the last tool that can have a mark has one", () => {
  const inputSchema = { type: "object" } as const
  const tools = [
    { type: "function", name: "a", inputSchema },
    { type: "function", name: "b", inputSchema },
    { type: "provider", id: "anthropic.web_search", name: "web_search", args: {} }
  ] as const
  const added = CacheMarks.add({ ...call("user"), tools: [...tools] }, "ephemeral").tools
  const providerOptions = { anthropic: { cacheControl: { type: "ephemeral" } } }
  assert.deepStrictEqual(added, [tools[0], { ...tools[1], providerOptions }, tools[2]])
})
