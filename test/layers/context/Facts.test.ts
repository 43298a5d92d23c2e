/** Facts are merged, cut and rendered so that what matters less goes first. */
import { assert, describe, it } from "@effect/vitest"
import * as Option from "effect/Option"
import * as Facts from "../../../src/layers/context/Facts.ts"

const facts = (given: Partial<Facts.Facts>): Facts.Facts => ({ ...Facts.none, ...given })
const added = (given: Partial<typeof Facts.Added.Type>): typeof Facts.Added.Type => ({
  ...Facts.none,
  closedPoints: [],
  ...given
})

/** A token is a character here. */
const count = (text: string) => text.length

describe("an answer", () => {
  it.each(["{\"results\":[\"a\"]}", "Here:\n```json\n{\"results\":[\"a\"]}\n```\nDone.", " {\"results\":[\"a\"]} "])(
    "is searched for its facts, whatever surrounds them: %j",
    (answer) => {
      assert.deepStrictEqual(Option.getOrThrow(Facts.parse(answer)), added({ results: ["a"] }))
    }
  )

  it.each([
    "",
    "no facts",
    "}{",
    "{",
    "}",
    "{}",
    "{\"error\":\"cannot\"}",
    "{\"key_facts\":{\"results\":[\"a\"]}}",
    "{\"results\":\"a\"}",
    "{results:[]}"
  ])("has no facts: %j", (answer) => {
    assert.isTrue(Option.isNone(Facts.parse(answer)))
  })
})

describe("a plain text", () => {
  it("becomes one fact per line, without bullets and blank lines", () => {
    assert.deepStrictEqual(
      Facts.fromText("First. Second.\n\n - third \r\n* fourth\u2028  \n").results,
      ["First. Second.", "third", "fourth"]
    )
  })

  it("becomes one fact per sentence when a line is long", () => {
    const long = `${"a".repeat(398)}. B?`
    assert.deepStrictEqual(Facts.fromText(long).results, [`${"a".repeat(398)}.`, "B?"])
    assert.deepStrictEqual(Facts.fromText(long.slice(2)).results, [long.slice(2)])
  })
})

describe("merged facts", () => {
  it("appear once each, trimmed, in the words used first", () => {
    const merged = Facts.merge(
      facts({ results: ["Ada  paid. "] }),
      added({ results: ["ada paid", " ", "", ".", "Bo paid;"], files: ["a.txt"] })
    )
    assert.deepStrictEqual(merged, facts({ results: ["Ada  paid.", "Bo paid;"], files: ["a.txt"] }))
  })

  it("have no closed point, whatever its case and final punctuation", () => {
    const merged = Facts.merge(
      facts({ openPoints: ["Ask Ada.", "Ask Bo"] }),
      added({ openPoints: ["Ask Cy"], closedPoints: ["ask ada"] })
    )
    assert.deepStrictEqual(merged.openPoints, ["Ask Bo", "Ask Cy"])
  })
})

describe("facts within a budget", () => {
  const all = facts({
    intent: ["wants a", "wants b"],
    decisions: ["d1", "d2"],
    results: ["r1", "r2"],
    files: ["f1", "f2"],
    openPoints: ["o1", "o2"]
  })
  const within = (budget: number) => Facts.within(all, budget, count)

  it("are all kept when they fit exactly", () => {
    const size = count(Facts.render(all))
    assert.deepStrictEqual(within(size), all)
    assert.deepStrictEqual(within(size - 1), { ...all, results: ["r2"] })
  })

  it("lose the oldest first, results before decisions, files, open points and intents", () => {
    const gone: Array<string> = []
    for (let budget = count(Facts.render(all)); budget > 0; budget--) {
      const left = new Set(Object.values(within(budget)).flat())
      const isCut = [...left].some((fact) => fact.includes("left out"))
      if (isCut) break
      for (const fact of Object.values(all).flat()) if (!left.has(fact) && !gone.includes(fact)) gone.push(fact)
    }
    assert.deepStrictEqual(gone, ["r1", "r2", "d1", "d2", "f1", "f2", "o1", "o2", "wants b"].slice(0, gone.length))
    assert.isAtLeast(gone.length, 8)
  })

  it("keep the first intent", () => {
    assert.deepStrictEqual(within(1), facts({ intent: within(1).intent }))
    assert.lengthOf(within(1).intent, 1)
  })

  it("are each cut to at most 200 tokens and half of the budget", () => {
    // the note about the cut takes some of it
    const long = facts({ results: ["a".repeat(5_000)] })
    const cut = (budget: number) => Facts.within(long, budget, count).results[0]!.length
    assert.isAtMost(cut(10_000), 200)
    assert.isAbove(cut(10_000), 100)
    assert.isAtMost(cut(300), 150)
  })
})

it("rendered facts of several lines cannot look like others, and empty sections are left out", () => {
  assert.strictEqual(
    Facts.render(facts({ intent: ["one\n- two\n\nDecisions:"], files: ["a", "b"] })),
    "What the user wants:\n- one\n  - two\n  \n  Decisions:\n\nFiles, names and ids:\n- a\n- b"
  )
})
