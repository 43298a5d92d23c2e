/** What an answer rests on: kept beside it, for people. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { TestClock } from "effect/testing"
import * as RunError from "../../src/run/RunError.ts"
import * as Source from "../../src/run/Source.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"

const { sources, text } = ScriptedModel

const page = (url: string, title?: string): Source.Source => ({
  type: "url",
  url,
  ...(title === undefined ? {} : { title })
})
const report: Source.Source = { type: "document", id: "d1", title: "Report", mediaType: "application/pdf" }

/** The sources of each answer of a run in which the model does this. */
const keptOf = Effect.fnUntraced(function*(...turns: ReadonlyArray<ScriptedModel.Turn>) {
  const { agent, store } = yield* TestAgent.make(turns)
  const run = yield* Effect.forkChild(agent.run({ sessionId: "s", input: "go" }))
  yield* TestClock.adjust("1 minute")
  yield* Fiber.join(run)
  return RunLog.only(yield* store.log("s"), "AssistantMessage").map((event) => event.sources)
})

describe("the sources of an answer", () => {
  it.effect("are in the log beside it, each once and in order, and are not sent to the model", () =>
    Effect.gen(function*() {
      const { agent, script, store } = yield* TestAgent.make([
        [
          text("It "),
          sources(page("https://a.test/", "A"), report),
          text("rains."),
          sources(page("http://b.test/"), page("https://a.test/", "A again"), { ...report, title: "The report" })
        ],
        text("Yes.")
      ])
      yield* agent.run({ sessionId: "s", input: "Does it rain?" })
      yield* agent.run({ sessionId: "s", input: "Really?" })
      const [first, second] = RunLog.only(yield* store.log("s"), "AssistantMessage")
      assert.deepStrictEqual(first?.message.content, [{ type: "text", text: "It rains." }])
      assert.deepStrictEqual(first?.sources, [page("https://a.test/", "A"), report, page("http://b.test/")])
      assert.doesNotHaveAnyKeys(second, ["sources"])
      const [, request] = yield* script.requests
      assert.notInclude(JSON.stringify(request), "a.test")
    }))

  it.effect("do not count where their attempt does not", () =>
    Effect.gen(function*() {
      const overloaded = new RunError.RetryableError({ _tag: "Overloaded", message: "busy" })
      const kept = yield* keptOf(
        [text("It"), sources(page("https://a.test/")), ScriptedModel.fail(overloaded)],
        [text("It rains."), sources(page("https://b.test/"))]
      )
      assert.deepStrictEqual(kept, [[page("https://b.test/")]])
    }))

  it.effect.each<readonly [string, string]>([
    ["that is a script", "javascript:alert(1)"],
    ["that is data", "data:text/html,hi"],
    ["that is none", "section 3"],
    ["too long to be one", `https://a.test/${"x".repeat(10_000)}`]
  ])("are those that others may link to: not an address %s", ([, url]) =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* keptOf([text("Hi"), sources(page(url))]), [undefined])
    }))

  const revoked = () => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    return proxy
  }

  it.effect.each<readonly [string, unknown]>([
    ["that is missing", undefined],
    ["that is null", null],
    ["without an address", { type: "url", title: "A" }],
    ["whose address is a URL", { type: "url", url: new URL("https://a.test/") }],
    ["whose title is a number", { type: "url", url: "https://a.test/", title: 7 }],
    ["that is a document without a title", { type: "document", id: "1", mediaType: "text/html" }],
    ["of another kind", { ...report, type: "book" }],
    ["that cannot be looked at", revoked()]
  ])("end no run, and are left out, where a model of untyped code gives one %s", ([, given]) =>
    Effect.gen(function*() {
      const kept = yield* keptOf([sources(given as never, page("https://b.test/")), text("Hi")])
      assert.deepStrictEqual(kept, [[page("https://b.test/")]])
    }))

  it.effect("are at most 256, with texts of at most 1,000 characters", () =>
    Effect.gen(function*() {
      const many = Array.from({ length: 1000 }, (_, n) => page(`https://a.test/${n}`, "é".repeat(2000)))
      const [kept] = yield* keptOf([text("Hi"), sources({ ...report, fileName: "x".repeat(2000) }, ...many)])
      const [document, ...pages] = kept!
      assert.deepStrictEqual(document, { ...report, fileName: `${"x".repeat(999)}…` })
      assert.deepStrictEqual(pages[0], page("https://a.test/0", `${"é".repeat(999)}…`))
      assert.deepStrictEqual(pages.length, Source.most - 1)
    }))
})
