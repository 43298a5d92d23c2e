/** However a source groups an answer's parts into arrays, what is kept and what is shown of them is the same. */
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { Collector } from "../../../src/loop/turn/Collector.ts"
import * as SoFar from "../../../src/loop/turn/SoFar.ts"
import type * as RunEvent from "../../../src/run/RunEvent.ts"
import type * as Model from "../../../src/services/Model.ts"

const block = Schema.Literals(["0", "1"])
/** whole characters, either half of one, and nothing */
const delta = Schema.Literals(["ab", "，", "🙂", "x\ud83d", "\ude42y", "\ud83d", "\ude42", ""])
const metadata = Schema.optionalKey(Schema.Struct({ test: Schema.Struct({ n: Schema.Literals([1, 2]) }) }))

const Part = Schema.Union([
  Schema.Struct({ type: Schema.Literals(["text-delta", "reasoning-delta"]), block, delta }),
  Schema.Struct({ type: Schema.Literals(["text-delta", "reasoning-delta"]), block, delta, metadata }),
  Schema.Struct({ type: Schema.Literal("tool-params-delta"), block, delta, tool: Schema.Literal("work") }),
  Schema.Struct({
    type: Schema.Literals(["block-start", "block-end"]),
    kind: Schema.Literals(["text", "reasoning"]),
    block,
    metadata
  }),
  Schema.Struct({
    type: Schema.Literal("tool-call"),
    id: Schema.String,
    name: Schema.Literal("work"),
    params: Schema.Struct({})
  }),
  Schema.Struct({
    type: Schema.Literal("source"),
    source: Schema.Struct({ type: Schema.Literal("url"), url: Schema.Literals(["https://a.test/", "https://b.test/"]) })
  })
])
const Answer = Schema.Array(Part)

/** Its parts in arrays of this size. */
const collect = (parts: ReadonlyArray<Model.ModelPart>, size: number) => {
  const collector = new Collector("run", 1, 1)
  const shown: Array<RunEvent.Delta> = []
  for (let at = 0; at < parts.length; at += size) shown.push(...collector.push(parts.slice(at, at + size)))
  return { content: collector.content(), shown, sources: collector.sources }
}

/** The text of each block and kind. */
const byBlock = (deltas: ReadonlyArray<RunEvent.Delta>) => {
  const texts: Record<string, string> = {}
  for (const { _tag, block, delta } of deltas) texts[`${_tag} ${block}`] = (texts[`${_tag} ${block}`] ?? "") + delta
  return texts
}

const shownAs = {
  "text-delta": "TextDelta",
  "reasoning-delta": "ReasoningDelta",
  "tool-params-delta": "ToolParamsDelta"
}

describe("an answer", () => {
  it.prop("is kept and shown the same in arrays of any size", [Answer], ([parts]) => {
    const one = collect(parts, 1)
    for (const size of [2, 3, 1000]) assert.deepStrictEqual(collect(parts, size), one)
  }, { arbitrary: { runs: 300, size: 40, seed: "arrays" } })

  it.prop("is kept and shown the same, whatever sources come within it", [Answer], ([parts]) => {
    const { sources, ...said } = collect(parts, 3)
    const cited = parts.flatMap((part) => part.type === "source" ? part.source.url : [])
    const plain = collect(parts.filter(({ type }) => type !== "source"), 3)
    assert.deepStrictEqual({ ...said, sources: undefined }, plain)
    assert.deepStrictEqual(sources?.map((source) => source.type === "url" ? source.url : "") ?? [], [...new Set(cited)])
  }, { arbitrary: { runs: 300, size: 40, seed: "sources" } })

  it.prop("is shown to late readers as it was shown before, each block's deltas as one", [Answer], ([parts]) => {
    const collector = new Collector("run", 1, 1)
    const shown: Array<RunEvent.Delta> = []
    for (const part of parts) {
      shown.push(...collector.push([part]))
      const told = collector.soFar()
      assert.deepStrictEqual(byBlock(told), byBlock(shown))
      const ends = told.map(({ count, index }) => index + count!)
      assert.deepStrictEqual([0, ...ends], [...told.map(({ index }) => index), shown.length])
    }
  }, { arbitrary: { runs: 300, size: 40, seed: "late" } })

  it.prop("is kept and shown the same, however many late readers have come meanwhile", [Answer], ([parts]) => {
    const [alone, read] = [new Collector("run", 1, 1), new Collector("run", 1, 1)]
    for (const part of parts) {
      assert.deepStrictEqual(read.push([part]), alone.push([part]))
      read.soFar()
    }
    assert.deepStrictEqual(read.soFar(), alone.soFar())
    assert.deepStrictEqual(read.content(), alone.content())
  }, { arbitrary: { runs: 300, size: 40, seed: "readers" } })

  it("is joined once, and not piece by piece again for the next late reader", () => {
    const block = { _tag: "TextDelta" as const, block: "0", deltas: ["so ", "far", "\ud83d"], index: 0 }
    const attempt = { runId: "run", turn: 1, attempt: 1 }
    const text = { _tag: "TextDelta" as const, ...attempt, index: 0, block: "0" }
    assert.deepStrictEqual(SoFar.joined([block], 2, attempt), [{ ...text, count: 2, delta: "so far" }])
    assert.strictEqual(block.deltas.length, 1)
    block.deltas.push("\ude42")
    assert.deepStrictEqual(SoFar.joined([block], 3, attempt), [{ ...text, count: 3, delta: "so far🙂" }])
    assert.strictEqual(block.deltas.length, 1)
  })

  it.prop("is shown whole and in order, except for half a character at its end", [Answer], ([parts]) => {
    const { shown } = collect(parts, 4)
    // an empty text announces nothing, unlike an empty call
    assert.notInclude(shown.map(({ _tag, delta }) => _tag === "ToolParamsDelta" ? _tag : delta), "")
    assert.deepStrictEqual(shown.map(({ index }) => index), shown.map((_, at) => at))
    for (const [type, tag] of Object.entries(shownAs)) {
      for (const id of ["0", "1"]) {
        const said = parts.flatMap((part) =>
          part.type === type && "delta" in part && part.block === id ? part.delta : []
        )
        const seen = shown.flatMap((event) => event._tag === tag && event.block === id ? event.delta : [])
        assert.strictEqual(seen.join(""), said.join("").replace(/[\ud800-\udbff]$/, ""))
        // no character is cut in two
        assert.strictEqual(seen.flatMap((delta) => [...delta]).length, [...seen.join("")].length)
      }
    }
  }, { arbitrary: { runs: 300, size: 40, seed: "halves" } })

  it.prop("keeps every unit of its texts", [Answer], ([parts]) => {
    const { content } = collect(parts, 4)
    const units = (texts: ReadonlyArray<string>) => texts.join("").split("").sort().join("")
    for (const type of ["text", "reasoning"] as const) {
      const said = parts.flatMap((part) => part.type === `${type}-delta` && "delta" in part ? part.delta : [])
      assert.strictEqual(units(content.flatMap((part) => part.type === type ? part.text : [])), units(said))
    }
  }, { arbitrary: { runs: 300, size: 40, seed: "units" } })

  it("has another block where one begins again under its id before it has ended: each keeps its own text and signature", () => {
    const begins = (signature: string) =>
      ({ type: "block-start", kind: "reasoning", block: "0", metadata: { p: { signature } } }) as const
    const says = (delta: string) => ({ type: "reasoning-delta", block: "0", delta }) as const
    const { content } = collect([begins("a"), says("one"), begins("b"), says("two"), says("!")], 2)
    assert.deepStrictEqual<unknown>(content, [
      { type: "reasoning", text: "one", metadata: { p: { signature: "a" } } },
      { type: "reasoning", text: "two!", metadata: { p: { signature: "b" } } }
    ])
  })

  const usage = { inputTokens: 7, outputTokens: 3 }

  it.each<readonly [string, Omit<Extract<Model.ModelPart, { type: "response" }>, "type">]>([
    ["an id", { id: "r1" }],
    ["a model", { model: "m-2026" }]
  ])("is known by %s, which a part without one does not remove", (_, said) => {
    const collector = new Collector("run", 1, 1)
    collector.push([{ type: "response", ...said }, { type: "response" }, { type: "response", usage }])
    assert.deepInclude(collector.response, said)
    assert.deepStrictEqual(collector.used, usage)
  })

  it("has used what its finish says, although its model goes on counting", () => {
    const counting = { ...usage }
    const collector = new Collector("run", 1, 1)
    collector.push([{ type: "finish", reason: "stop", usage: counting }])
    counting.inputTokens = 9
    assert.deepStrictEqual(collector.used, usage)
    assert.isFrozen(collector.used)
  })
})
