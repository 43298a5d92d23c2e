/** A typed answer as it grows: every value extends the one before, and the last is complete. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { runInNewContext } from "node:vm"
import * as Message from "../../src/run/Message.ts"
import { unfenced } from "../../src/run/partial/Fence.ts"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import * as RunEvents from "../../src/run/RunEvents.ts"
import { attempt, delta } from "../support/Deltas.ts"
import * as Draft from "../support/Drafts.ts"
import * as Logs from "../support/Logs.ts"
import * as Odd from "../support/Odd.ts"
import * as PartialJson from "./PartialJson.ts"

const check = { arbitrary: { runs: 300, size: 30, seed: "partial" } }

const settled = (text: string, extra: Parameters<typeof Draft.assistant>[1] = {}) =>
  Draft.log(Draft.assistant([Message.text(text)], extra))[0]

const deltas = (...pieces: ReadonlyArray<string>) => pieces.map((piece, index) => delta(index, piece))

const values = (events: Iterable<RunEvent.RunEvent>) =>
  Stream.runCollect(RunEvents.partialOutput(Schema.Json)(Stream.fromIterable(events)))

/** The values shown of an answer that arrives in these pieces. */
const shown = (...pieces: ReadonlyArray<string>) => values([...deltas(...pieces), settled(pieces.join(""))])

describe("the values of an answer", () => {
  it.effect("grow: strings as they arrive, lists and objects with their contents, the rest when complete", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(
        yield* shown(
          "{\"ci",
          "ty\":",
          "\"Os",
          "lo\",\"da",
          "ys\":[1",
          "2,",
          "tr",
          "ue",
          ",{\"min\":-",
          "1.5",
          "}]",
          "}"
        ),
        [
          {},
          { city: "Os" },
          { city: "Oslo" },
          { city: "Oslo", days: [] },
          { city: "Oslo", days: [12] },
          { city: "Oslo", days: [12, true, {}] },
          { city: "Oslo", days: [12, true, { min: -1.5 }] }
        ]
      )
    }))

  it.effect.prop("are what each prefix of the text says, once each, and end with the whole", [
    Schema.Json,
    Logs.seed
  ], ([value, seed]) =>
    Effect.gen(function*() {
      const text = PartialJson.written(value, seed)
      const whole = JSON.parse(text) as Schema.Json
      const pieces = PartialJson.cut(text, seed)
      const expected: Array<Schema.Json> = []
      for (const end of pieces.keys()) {
        const next = PartialJson.naive(pieces.slice(0, end + 1).join(""))
        if (next !== undefined && JSON.stringify(next) !== JSON.stringify(expected.at(-1))) expected.push(next)
      }
      if (expected.length === 0) expected.push(whole)
      const all = yield* shown(...pieces)
      assert.deepStrictEqual(all, expected)
      assert.deepStrictEqual(all.at(-1), whole)
      for (const one of all) assert.isTrue(PartialJson.isPrefix(one, whole), JSON.stringify(one))
    }), check)

  it.effect.each<readonly [string, Schema.Json]>([
    ["[{\"a\":\"b\"],\"c\"]", [{ a: "b" }]],
    ["{\"a\":[\"b\"},\"c\":\"d\"}", { a: ["b"] }]
  ])("end where one is closed as the other: %s", ([text, last]) =>
    Effect.gen(function*() {
      assert.deepStrictEqual((yield* shown(...text.split(""))).at(-1), last)
    }))

  it.effect.prop(
    "never throw for text that is not JSON",
    [Schema.String, Logs.seed],
    ([text, seed]) =>
      Effect.gen(function*() {
        const die = Odd.dice(seed)
        const json = PartialJson.written([{ [die.pick(Odd.texts)]: die.pick(Odd.texts) }, -1.5e3, [text], null], seed)
        const at = die.int(json.length)
        for (const odd of [text, json.slice(at), json.slice(0, at) + die.pick(Odd.texts) + json.slice(at + 1)]) {
          yield* shown(...PartialJson.cut(odd, seed))
        }
      }),
    check
  )

  it.effect("stop where the text is no longer JSON", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* shown("[1, ", "2 3", ", 4]"), [[1], [1, 2]])
      assert.deepStrictEqual(yield* shown("Let me look that up: ", "[1]"), [])
      assert.deepStrictEqual(yield* shown("{\"a\":\"x\"", "} I hope", " [this] helps"), [{ a: "x" }])
    }))

  it.effect.each([
    "[01]",
    "[1.]",
    "[.5]",
    "[+1]",
    "[nul]",
    "[True]",
    "[,1]",
    "[1,]",
    "{,}",
    "{\"a\":1,}",
    "{\"a\" 1}",
    "{1:2}",
    "[}",
    "{]",
    "{\"a\"}",
    "\"a\nb\"",
    "\"\\x\"",
    "\"\\u12x4\"",
    "1 2",
    "3 tools are needed",
    "null and void",
    "'a'"
  ])("end where JSON.parse rejects %s", (text) =>
    Effect.gen(function*() {
      assert.throws(() => JSON.parse(text))
      for (const pieces of [[text, " "], [...text, " "]]) {
        const all = yield* shown("[", ...pieces, ", \"after it\"]")
        assert.notInclude(JSON.stringify(all), "after it")
        assert.deepStrictEqual(all.at(-1), (yield* shown(`[${text} , "after it"]`)).at(-1))
      }
    }))

  it.effect("stay at what came before the text stopped being JSON, however it is cut", () =>
    Effect.gen(function*() {
      for (const text of ["{\"a\":[1]}\n\nI hope this helps!", "{\"a\":[1]}\n{\"b\":2}", "{\"a\":[1],}"]) {
        assert.deepStrictEqual(yield* shown(text), [{ a: [1] }])
        assert.deepStrictEqual((yield* shown(...text)).at(-1), { a: [1] })
      }
      for (const text of ["3 tools are needed", "1 2", "\ufeff[1]", "\u00a0[1]"]) {
        assert.deepStrictEqual(yield* shown(text), [])
        assert.deepStrictEqual(yield* shown(...text), [])
      }
    }))

  it.effect("do not include a number that a limit cut", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* shown("{\"days\":[1, 2", "5"), [{ days: [1] }])
      assert.deepStrictEqual(yield* shown("{\"days\":2"), [{}])
    }))

  it.effect("of an answer that is a single number or literal appear once it has ended", () =>
    Effect.gen(function*() {
      const events = deltas("4", "2", "\n")
      assert.deepStrictEqual(yield* values(events), [])
      assert.deepStrictEqual(yield* values([...events, settled("42\n")]), [42])
      assert.deepStrictEqual(yield* shown("nul", "l"), [null])
    }))

  it.effect("do not end in half a character", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* shown("\"a\\ud8", "3d", "\\ude0", "0b\""), ["a", "a\u{1f600}b"])
      assert.deepStrictEqual(yield* shown("\"a\\ud83d", "\""), ["a", "a\ud83d"])
    }))

  it.effect("hold keys of any name as their own", () =>
    Effect.gen(function*() {
      const text = "{\"__proto__\":{\"a\":1},\"constructor\":[]}"
      const all = yield* shown(...text.split(""))
      assert.strictEqual(JSON.stringify(all.at(-1)), text)
      for (const one of all) assert.strictEqual(Object.getPrototypeOf(one), Object.prototype)
    }))

  it.effect("share what did not change", () =>
    Effect.gen(function*() {
      const all = (yield* shown("[{\"a\":1},", "{\"b\":", "2}", "]")) as ReadonlyArray<ReadonlyArray<unknown>>
      assert.strictEqual(all.length, 3)
      assert.deepStrictEqual(all[0], [{ a: 1 }])
      assert.strictEqual(all[2]![0], all[0]![0])
    }))

  it.effect.each<readonly [string, string]>([
    ["a long list", JSON.stringify(Array.from({ length: 10_000 }, (_, i) => i))],
    [
      "an object of many keys",
      JSON.stringify(Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`k${i}`, i])))
    ],
    [
      "a long text in an object of many keys",
      JSON.stringify({
        ...Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`k${i}`, i])),
        text: "x".repeat(20_000)
      })
    ],
    ["deep nesting", "[".repeat(20_000) + "]".repeat(20_000)]
  ])("of %s cost a bounded amount for each character", ([, text]) =>
    Effect.gen(function*() {
      const all = yield* shown(...text.match(/.{1,4}/gs)!)
      const copied = all.reduce<number>((sum, one) => sum + widthOf(one), 0)
      assert.isBelow(copied, 10 * text.length)
      assert.isAbove(all.length, 50)
      assert.strictEqual(widthOf(all.at(-1)!), widthOf(JSON.parse(text) as Schema.Json))
    }))
})

/** The number of items in it, along the last item at each level. */
const widthOf = (value: Schema.Json): number => {
  let sum = 0
  let at: Schema.Json | undefined = value
  while (typeof at === "object" && at !== null) {
    const members: ReadonlyArray<Schema.Json> = Object.values(at)
    sum += members.length + 1
    at = members.at(-1)
  }
  return sum
}

describe("a fence around the answer", () => {
  it.effect("is not part of it, wherever it is cut", () =>
    Effect.gen(function*() {
      for (const text of ["```json\n{\"a\":1}\n```", "\n ```\n\n{\"a\":1}\n```\n", "```json \r\n{\"a\":1}\n ``` "]) {
        assert.deepStrictEqual(yield* shown(...text.split("")), [{}, { a: 1 }])
        assert.deepStrictEqual(yield* shown(text), [{ a: 1 }])
      }
      assert.deepStrictEqual(yield* shown("```json\n", "tr", "ue\n", "```"), [true])
    }))

  it.effect("for another language is not JSON", () =>
    Effect.gen(function*() {
      for (const text of ["```ts\n[1]\n```", "`[1]`", "```json[1]```"]) {
        assert.deepStrictEqual(yield* shown(...text.split("")), [])
      }
    }))
})

describe("the object around an answer whose schema is not one of objects", () => {
  /** The values shown of an answer that arrives in these pieces, and has to fit this schema. */
  const shownOf = (schema: Schema.Constraint, ...pieces: ReadonlyArray<string>) =>
    Stream.runCollect(
      RunEvents.partialOutput(schema)(Stream.fromIterable([...deltas(...pieces), settled(pieces.join(""))]))
    )
  const List = Schema.Array(Schema.Json)
  const Change = Schema.Union([
    Schema.Struct({ result: Schema.String }),
    Schema.Struct({ why: Schema.optionalKey(Schema.String) })
  ])

  it.effect("is not part of it", () =>
    Effect.gen(function*() {
      const pieces = ["{", "\"res", "ult\"", ": ", "[\"a", "b\", 1", "2, ", "true]", " }"]
      assert.deepStrictEqual(yield* shownOf(List, ...pieces), [["a"], ["ab"], ["ab", 12], ["ab", 12, true]])
      assert.deepStrictEqual(yield* shownOf(Schema.Literals(["sunny"]), "{\"result\":\"su", "nny\"}"), ["su", "sunny"])
      assert.deepStrictEqual(yield* shownOf(Schema.Finite, "```json\n{\"result\":4", "2}\n", "```"), [42])
    }))

  it.effect.prop(
    "is not part of any value, and may be missing",
    [List, Logs.seed],
    ([list, seed]) =>
      Effect.gen(function*() {
        for (const value of [list, { result: list }]) {
          const text = PartialJson.written(value, seed)
          const whole = (JSON.parse(`[${text}]`) as ReadonlyArray<any>).map((one) => one.result ?? one)[0]
          const all = yield* shownOf(List, ...PartialJson.cut(text, seed))
          assert.deepStrictEqual<unknown>(all.at(-1), whole)
          for (const one of all as ReadonlyArray<Schema.Json>) assert.isTrue(PartialJson.isPrefix(one, whole))
        }
      }),
    check
  )

  it.effect("is not taken for an answer that is an object itself, however that begins", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* shownOf(Change, "{", "\"result_\":", "{", "\"why\":\"", "x\"}}"), [
        {},
        { why: "" },
        { why: "x" }
      ])
      assert.deepStrictEqual(yield* shownOf(Change, "{", "\"result\":\"", "x\"}"), [{ result: "" }, { result: "x" }])
      assert.deepStrictEqual(yield* shownOf(Change, "{", "}"), [{}])
      assert.deepStrictEqual(yield* shownOf(Change, "{", "\"res"), [])
    }))

  it.effect("is not taken for an answer that is an object itself, once that has a member of another name", () =>
    Effect.gen(function*() {
      const Found = Schema.NullOr(Schema.Record(Schema.String, Schema.Json))
      assert.deepStrictEqual(yield* shownOf(Found, "{\"a\":1", ",\"result\":", "{\"b\":2}", ",\"c\":3}"), [
        { a: 1 },
        { a: 1, result: { b: 2 } },
        { a: 1, result: { b: 2 }, c: 3 }
      ])
      assert.deepStrictEqual(yield* shownOf(Found, "{\"result\":{\"b\":2}", ",\"c\":\"x\"}"), [
        { b: 2 },
        { result: { b: 2 }, c: "x" }
      ])
    }))

  it.effect("is not part of an answer that is never an object, whatever else is in it", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* shownOf(List, "{\"result\":[\"a\"]", ",\"note\":\"x\"}"), [["a"], ["a"]])
    }))

  it.effect("is not there where the schema is of objects", () =>
    Effect.gen(function*() {
      const all = yield* shownOf(Schema.Struct({ result: Schema.String }), "{", "\"result\":\"x\"}")
      assert.deepStrictEqual(all, [{}, { result: "x" }])
    }))
})

describe("a whole answer", () => {
  it("is taken out of its fence, even if the end of the fence directly follows it", () => {
    for (const text of ["```json\n[1]\n```", "\n```\n\n[1]```\n", "```json \r\n[1]\r\n ``` "]) {
      assert.strictEqual(unfenced(text).trim(), "[1]")
    }
    for (const text of ["[1]", "```json\n[1]", "```ts\n[1]\n```", "[\"```\"]"]) assert.strictEqual(unfenced(text), text)
  })

  it("is read once, even if it is an unclosed fence with many new lines", () => {
    // read again from each new line it would take minutes, and block the process all that time
    const bounded = (text: string) => runInNewContext("unfenced(text)", { text, unfenced }, { timeout: 5_000 })
    const lines = "\n".repeat(1_000_000)
    for (const text of [`\`\`\`json${lines}x`, `\`\`\`json\n{${lines}`]) assert.isTrue(bounded(text) === text)
  })
})

describe("the events of a run", () => {
  const text = "{\"city\":\"Oslo\"}"

  it.effect.prop("may have reasoning in between, be joined, or begin in the middle of the answer", [
    Schema.Json,
    Logs.seed
  ], ([value, seed]) =>
    Effect.gen(function*() {
      const json = PartialJson.written(value, seed)
      const whole = JSON.parse(json) as Schema.Json
      const events = attempt(json, seed)
      const from = Odd.dice(seed).int(events.length + 1)
      const views = [
        events,
        RunEvents.joined(events),
        [...RunEvents.joined(events.slice(0, from)), ...events.slice(from)],
        events.slice(from),
        [...events.slice(0, from), ...events.slice(from + 2)]
      ]
      for (const view of views) {
        const all = yield* values([...view, settled(json)])
        assert.deepStrictEqual(all.at(-1), whole)
        for (const [at, one] of all.entries()) assert.isTrue(PartialJson.isPrefix(one, all[at + 1] ?? whole))
      }
    }), check)

  it.effect("of a retried attempt start over", () =>
    Effect.gen(function*() {
      const [discarded] = Draft.log(Draft.discarded(1, 1))
      const second = deltas("{\"city\"", ":\"Ro", "me\"}").map((event) => ({ ...event, attempt: 2 }))
      const events = [...deltas("{\"city\":\"O"), discarded, ...second, settled("{\"city\":\"Rome\"}", { attempt: 2 })]
      assert.deepStrictEqual(yield* values(events), [{ city: "O" }, {}, { city: "Ro" }, { city: "Rome" }])
    }))

  it.effect("of an attempt replayed from its beginning start over", () =>
    Effect.gen(function*() {
      const soFar = { ...delta(0, "{\"city\":\"Osl"), count: 3 }
      const events = [...deltas("{\"city\"", ":\"O"), soFar, delta(3, "o\"}"), settled(text)]
      assert.deepStrictEqual(yield* values(events), [{}, { city: "O" }, { city: "Osl" }, { city: "Oslo" }])
    }))

  it.effect.each([{ attempt: 2 }, { turn: 2 }, { runId: "other" }])(
    "whose beginning was missed do not continue others: %j",
    (place) =>
      Effect.gen(function*() {
        const events = [...deltas("[\"a", "b"), delta(2, "c\"]", place), { ...settled("[\"xyc\"]"), ...place }]
        assert.deepStrictEqual(yield* values(events), [["a"], ["ab"], ["xyc"]])
      })
  )

  it.effect("of several turns are separate for each", () =>
    Effect.gen(function*() {
      const params: RunEvent.Transient = { ...delta(1, "{\"n\":1}"), _tag: "ToolParamsDelta", tool: "look" }
      const later = deltas("[\"a", "\"]").map((event) => ({ ...event, turn: 2 }))
      const events = [delta(0, "I look."), params, settled("I look."), ...later, settled("[\"a\"]", { turn: 2 })]
      assert.deepStrictEqual(yield* values(events), [["a"]])
    }))

  it.effect("without deltas have the whole answer", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* values([settled(text)]), [{ city: "Oslo" }])
    }))

  it.effect("with interleaved blocks end with the whole answer", () =>
    Effect.gen(function*() {
      const [answer] = Draft.log(Draft.assistant([Message.text("[1, "), Message.text("2]")]))
      const events = [
        delta(0, "["),
        delta(1, "2", { block: "1" }),
        delta(2, "1, "),
        delta(3, "]", { block: "1" }),
        answer
      ]
      assert.deepStrictEqual((yield* values([...events, answer])).at(-1), [1, 2])
    }))

  it.effect("are read from the start by each reader, up to the run's error", () =>
    Effect.gen(function*() {
      const events = Stream.concat(Stream.fromIterable(deltas("[\"a")), Stream.fail("boom"))
      const read = RunEvents.partialOutput(Schema.Json)(events).pipe(Stream.catch((error) => Stream.succeed(error)))
      assert.deepStrictEqual(yield* Stream.runCollect(read), [["a"], "boom"])
      assert.deepStrictEqual(yield* Stream.runCollect(read), [["a"], "boom"])
    }))
})
