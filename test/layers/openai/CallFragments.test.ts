/** What long arguments and many calls cost; which fragment belongs to which call is in `LanguageModelOpenAiToolCalls`. */
import { assert, describe, it } from "@effect/vitest"
import { vi } from "vitest"
import { CallFragments } from "../../../src/layers/openai/CallFragments.ts"
import { JsonEnd } from "../../../src/layers/openai/JsonEnd.ts"
import * as Json from "../../../src/layers/provider/Json.ts"

const pieces = (text: string, length: number): ReadonlyArray<string> =>
  Array.from({ length: Math.ceil(text.length / length) }, (_, i) => text.slice(i * length, (i + 1) * length))

/** The calls of a provider that repeats index and name in every fragment, and how many characters were parsed. */
const named = (text: string) => {
  const parse = vi.spyOn(JSON, "parse")
  try {
    const fragments = new CallFragments()
    for (const piece of pieces(text, 4)) {
      fragments.add([{ index: 0, id: undefined, name: "write_file", text: piece }], () => {})
    }
    const parsed = parse.mock.calls.reduce((sum, [json]) => sum + json.length, 0)
    return { calls: fragments.whole()?.map((call) => call.text), parsed }
  } finally {
    parse.mockRestore()
  }
}

describe("arguments that come with the name in every fragment", () => {
  it.each([
    ["a long text", JSON.stringify({ content: "x".repeat(10_000) })],
    ["many brackets", JSON.stringify({ rows: Array.from({ length: 1000 }, () => [{}]) })],
    ["quoted brackets", JSON.stringify({ content: "\\\"}{".repeat(2000) })],
    ["spaces after them", `{"a":1}   `]
  ])("are parsed only where they may end: %s", (_, text) => {
    const { calls, parsed } = named(text)
    assert.deepStrictEqual(calls, [text])
    assert.isAtMost(parsed, text.length)
  })
})

it("very many calls in one answer are told apart in linear time", () => {
  const n = 60_000
  const fragments = new CallFragments()
  const add = (i: number, id: string | undefined, name: string | undefined, text: string) =>
    fragments.add([{ index: i, id, name, text }], () => {})
  // in quadratic time these take a minute
  for (let i = 0; i < n; i++) {
    add(i, `id${i}`, "look", "{")
    add(i, undefined, undefined, "}")
  }
  assert.isTrue(fragments.whole()?.every((call, i) => call.providerId === `id${i}` && call.text === "{}"))
  assert.lengthOf(fragments.whole() ?? [], n)
})

describe("the end of a JSON document", () => {
  it.each([
    `{"a":[1,{"b":"}]"}],"c":"\\"{"}`,
    ` \n[ "]", "\\\\" ] \t`,
    `"text"`,
    `{}`,
    `{"a":1}{"b":2}`,
    `[] x`,
    `12`,
    `true`,
    `}`,
    ``
  ])("is found exactly where a prefix is complete, however it is cut: %s", (text) => {
    for (const length of [1, 2, 3, text.length]) {
      const end = new JsonEnd()
      let read = ""
      for (const piece of length === 0 ? [] : pieces(text, length)) {
        end.push(piece)
        read += piece
        assert.strictEqual(end.isReached, /^\s*[{["]/.test(read) && Json.parse(read) !== undefined, read)
      }
    }
  })
})
