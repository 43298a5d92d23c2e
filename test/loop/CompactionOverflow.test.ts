/** Contexts that are too large for their provider: how often it is asked, and how the run ends. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as ContextKeyFacts from "../../src/layers/ContextKeyFacts.ts"
import * as ContextSummary from "../../src/layers/ContextSummary.ts"
import * as ContextWindow from "../../src/layers/ContextWindow.ts"
import * as Message from "../../src/run/Message.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Condensing from "../support/Condensing.ts"
import * as Overflows from "../support/Overflows.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"

const { history, overflow } = Overflows
const ok = ScriptedModel.text("ok")
const info = { provider: "test", name: "small", contextWindow: 1_000, maxOutput: 100 }
/** A message of more tokens than that window, and instructions just as large. */
const large = `find the needle in ${"hay and straw and ".repeat(400)}`

const contract = Message.user([
  Message.text("what is in it?"),
  { type: "file", mediaType: "application/pdf", data: "JVBERi0x", fileName: "contract.pdf" }
])

const condensed = (strategy: typeof ContextSummary.layer, answer: string) =>
(
  turns: Parameters<typeof TestAgent.make>[0],
  options: TestAgent.Options
) => Condensing.make(turns, strategy, () => ScriptedModel.text(answer), options)

describe("a provider that overflows", () => {
  it.effect("once is asked twice, the second time with less", () =>
    Effect.gen(function*() {
      const made = yield* TestAgent.make([overflow, ok])
      const { compacted, end, requests } = yield* Overflows.run(made, { history: history(10) })
      assert.strictEqual(end, "RunCompleted(stop)")
      assert.deepStrictEqual(compacted.map(({ cause }) => cause), ["overflow"])
      assert.strictEqual(requests.length, 2)
      assert.isBelow(Overflows.lengthOf(requests[1]!), Overflows.lengthOf(requests[0]!))
    }))

  it.effect("always is asked once, and once more after each compaction that a run may make in a row", () =>
    Effect.gen(function*() {
      const made = yield* TestAgent.make(() => overflow)
      const { compacted, end, requests } = yield* Overflows.run(made, { history: history(40) })
      assert.strictEqual(end, "RunLimited(compactions)")
      assert.strictEqual(compacted.length, 3)
      assert.strictEqual(requests.length, 4)
      requests.slice(1).forEach((request, i) =>
        assert.isBelow(Overflows.lengthOf(request), Overflows.lengthOf(requests[i]!))
      )
    }))

  it.effect("always, with little to leave out, fails the run with the provider's own words", () =>
    Effect.gen(function*() {
      const made = yield* TestAgent.make(() => overflow)
      const { compacted, end, exit, requests } = yield* Overflows.run(made, { history: history(2) })
      assert.strictEqual(end, "RunFailed(ContextOverflow)")
      assert.strictEqual((yield* Effect.flip(exit)).message, "too long")
      assert.deepStrictEqual([compacted.length, requests.length], [2, 3])
    }))

  it.effect("in the middle of a run keeps calls with their results", () =>
    Effect.gen(function*() {
      const turns = [1, 2, 3, 4].map((n) => TestAgent.work(n))
      const made = yield* TestAgent.make([...turns, overflow, overflow, ok])
      const { compacted, end, requests } = yield* Overflows.run(made)
      assert.strictEqual(end, "RunCompleted(stop)")
      assert.deepStrictEqual([compacted.length, requests.length], [2, 7])
      assert.include(Overflows.said(requests.at(-1)!).at(-1), "done 4")
    }))

  it.effect("because of one message fails the run when nothing else is left of the conversation", () =>
    Effect.gen(function*() {
      const made = yield* TestAgent.make(Overflows.above(4_000), { info })
      const { compacted, end, requests } = yield* Overflows.run(made, { history: history(12), input: large })
      assert.strictEqual(end, "RunFailed(ContextOverflow)")
      assert.isAtMost(compacted.length, 2)
      assert.strictEqual(requests.length, 1)
      assert.deepStrictEqual(Overflows.said(requests[0]!).map((text) => text.includes("needle")), [true])
    }))

  const facts = JSON.stringify({ results: ["hello was said"] })
  const ways = [
    ["the window", info, () => TestAgent.make],
    ["the window, of a size that nobody knows,", undefined, () => TestAgent.make],
    ["a summary", info, () => condensed(ContextSummary.layer, "They said hello.")],
    ["a summary, of a window that nobody knows,", undefined, () => condensed(ContextSummary.layer, "They said hello.")],
    ["key facts", info, () => condensed(ContextKeyFacts.layer, facts)]
  ] as const

  it.effect.each(ways)("because of one message answers the next one: %s", ([, info, make]) =>
    Effect.gen(function*() {
      const made = yield* make()(Overflows.above(4_000), info === undefined ? {} : { info })
      const ask = (input: string) => Effect.result(made.agent.run({ sessionId: "s", input }))
      yield* ask("hello")
      for (const input of [large, large]) assert.strictEqual((yield* ask(input))._tag, "Failure")
      const answered = yield* ask("and now?")
      assert.strictEqual(answered._tag === "Success" ? answered.success._tag : "Failure", "Completed")
      const log = yield* made.store.log("s")
      assert.deepStrictEqual(RunLog.violations(log), [])
      assert.strictEqual(RunLog.only(log, "ContextCompacted").at(-1)?.cause, info === undefined ? "overflow" : "window")
      const { messages } = (yield* made.script.requests).at(-1)!
      assert.strictEqual(messages.length, 2)
      assert.deepStrictEqual(messages[1]!.content.at(-1), Message.text("and now?"))
    }))

  it.effect.each(ways)(
    "because of one file in a short conversation answers the next message: %s",
    ([, info, make]) =>
      Effect.gen(function*() {
        const made = yield* make()(
          ({ messages }) => JSON.stringify(messages).includes("application/pdf") ? overflow : ok,
          info === undefined ? {} : { info }
        )
        yield* made.agent.run({ sessionId: "s", input: "hello" })
        const asked = yield* Effect.result(made.agent.run({ sessionId: "s", input: [contract] }))
        assert.strictEqual(asked._tag, "Failure")
        const answered = yield* made.agent.run({ sessionId: "s", input: "and now?" })
        assert.strictEqual(answered._tag, "Completed")
        assert.deepStrictEqual(RunLog.violations(yield* made.store.log("s")), [])
        const { messages } = (yield* made.script.requests).at(-1)!
        assert.deepStrictEqual(messages.at(-1)!.content.at(-1), Message.text("and now?"))
      })
  )

  it.effect("because of one message, with a window of unknown size, ends the run after as many compactions as allowed", () =>
    Effect.gen(function*() {
      const made = yield* TestAgent.make(Overflows.above(4_000))
      const { compacted, end, requests } = yield* Overflows.run(made, { history: history(30), input: large })
      assert.strictEqual(end, "RunLimited(compactions)")
      assert.deepStrictEqual([compacted.length, requests.length], [3, 4])
      for (const request of requests) assert.include(Condensing.textOf(request), large)
    }))

  it.effect("because of instructions and tools fails the run, and leaves the conversation alone", () =>
    Effect.gen(function*() {
      const made = yield* TestAgent.make(Overflows.above(4_000), { info, agent: { instructions: large } })
      const { compacted, end, requests } = yield* Overflows.run(made, { history: history(12) })
      assert.strictEqual(end, "RunFailed(ContextOverflow)")
      assert.deepStrictEqual([compacted.length, requests.length], [0, 1])
    }))

  it.effect("fails the run at once when compaction is not automatic", () =>
    Effect.gen(function*() {
      const context = ContextWindow.layerWith({ automatic: false, compactThreshold: 2, maxTokens: 10 })
      const made = yield* TestAgent.make([overflow], { info, context })
      const { compacted, end, requests } = yield* Overflows.run(made, { history: history(100) })
      assert.strictEqual(end, "RunFailed(ContextOverflow)")
      assert.deepStrictEqual([compacted.length, requests.length], [0, 1])
    }))
})

describe("a condensing model that overflows", () => {
  const strategies = { summary: ContextSummary.layer, "key facts": ContextKeyFacts.layer }

  for (const [name, strategy] of Object.entries(strategies)) {
    it.effect(`is asked three times for its ${name}, and the run fails with the first overflow's words`, () =>
      Effect.gen(function*() {
        const made = yield* Condensing.make([overflow], strategy, () => overflow)
        const { compacted, end, exit, requests } = yield* Overflows.run(made, { history: history(12) })
        assert.strictEqual(end, "RunFailed(ContextOverflow)")
        assert.strictEqual((yield* Effect.flip(exit)).message, "too long")
        assert.deepStrictEqual([compacted.length, requests.length, (yield* made.asked).length], [0, 1, 3])
      }))

    it.effect(`falls back to pruning when its ${name} cannot be made`, () =>
      Effect.gen(function*() {
        const turns = [1, 2, 3, 4].map((n) => TestAgent.work(n))
        const made = yield* Condensing.make([...turns, overflow, ok], strategy, () => overflow, {
          tool: () => Effect.succeed("output ".repeat(500))
        })
        const { compacted, end, requests } = yield* Overflows.run(made)
        assert.strictEqual(end, "RunCompleted(stop)")
        assert.deepStrictEqual(compacted.map(({ strategy }) => strategy), ["pruning"])
        assert.deepStrictEqual([requests.length, (yield* made.asked).length], [6, 3])
      }))

    it.effect(`fails a run that has sent nothing yet, when its ${name} was needed first`, () =>
      Effect.gen(function*() {
        const made = yield* Condensing.make([], strategy, () => overflow, { info })
        const { end, requests } = yield* Overflows.run(made, { history: history(12, 600) })
        assert.strictEqual(end, "RunFailed(CompactionFailed)")
        assert.strictEqual(requests.length, 0)
      }))
  }
})

describe("an answer cut at the output limit", () => {
  const half = [ScriptedModel.text("half"), ScriptedModel.finish("length")]

  it.effect("is continued after a compaction", () =>
    Effect.gen(function*() {
      const made = yield* TestAgent.make([half, ok])
      const { compacted, end, requests } = yield* Overflows.run(made, { history: history(10) })
      assert.strictEqual(end, "RunCompleted(stop)")
      assert.deepStrictEqual(compacted.map(({ cause }) => cause), ["length"])
      assert.strictEqual(requests.length, 2)
      assert.match(Overflows.said(requests[1]!).at(-1)!, /cut at the output limit/)
    }))

  it.effect("ends the run when compaction is not automatic", () =>
    Effect.gen(function*() {
      const made = yield* TestAgent.make([half], { context: ContextWindow.layerWith({ automatic: false }) })
      const { compacted, end, requests } = yield* Overflows.run(made, { history: history(10) })
      assert.strictEqual(end, "RunLimited(length)")
      assert.deepStrictEqual([compacted.length, requests.length], [0, 1])
    }))

  it.effect("ends the run when the compaction fails", () =>
    Effect.gen(function*() {
      const made = yield* Condensing.make([half], ContextSummary.layer, () => Overflows.refused)
      const { compacted, end, log, requests } = yield* Overflows.run(made, { history: history(10) })
      assert.strictEqual(end, "RunLimited(length)")
      assert.deepStrictEqual([compacted.length, requests.length], [0, 1])
      assert.deepStrictEqual(RunLog.only(log, "NoticeAdded"), [])
    }))
})
