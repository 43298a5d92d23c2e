/** How a model reads each outcome. */
import { assert, describe, it } from "@effect/vitest"
import * as Message from "../../src/run/Message.ts"
import * as ToolOutcome from "../../src/run/ToolOutcome.ts"

const reasons = ToolOutcome.NotExecuted.fields.reason.literals

const outcomes: ReadonlyArray<readonly [ToolOutcome.ToolOutcome, RegExp]> = [
  [{ _tag: "InvalidArguments", message: "n is missing" }, /^Invalid arguments: n is missing$/],
  [{ _tag: "UnknownTool", available: ["search", "pay"] }, /no such tool.*search, pay/],
  [{ _tag: "UnknownTool", available: [] }, /no such tool.*no tools/],
  [{ _tag: "Denied", reason: "too much money" }, /^Denied: too much money$/],
  [{ _tag: "TimedOut", limit: 1500 }, /1500 ms/],
  [{ _tag: "Interrupted" }, /^Interrupted/],
  [{ _tag: "OutcomeUnknown" }, /not known whether it took effect/],
  [{ _tag: "NotEncodable", message: "a bigint is not JSON" }, /succeeded.*a bigint is not JSON/],
  ...reasons.map((reason) => [{ _tag: "NotExecuted", reason }, /^Not executed: .*\.$/] as const)
]

describe("a model reads", () => {
  it("a success as its result", () => {
    const result = { hits: [1, 2], none: null }
    assert.deepStrictEqual(ToolOutcome.toResult({ _tag: "Succeeded", result }), { result, isFailure: false })
  })

  it("a success as its content, where there is some, and also which edited arguments it ran with", () => {
    const content = [Message.text("a chart"), { type: "file", mediaType: "image/png", data: "AQI=" } as const]
    const outcome = { _tag: "Succeeded", result: 1, content } as const
    assert.deepStrictEqual(ToolOutcome.toResult(outcome), { result: 1, isFailure: false, content })
    const told = { note: "Ran with edited arguments.", arguments: { n: 2 } }
    assert.deepStrictEqual(ToolOutcome.toResult(outcome, { n: 2 }), {
      result: { ...told, result: 1 },
      isFailure: false,
      content: [Message.text(JSON.stringify(told)), ...content]
    })
  })

  it("a failure as the handler returned it", () => {
    const result = { code: 404 }
    assert.deepStrictEqual(ToolOutcome.toResult({ _tag: "Failed", result }), { result, isFailure: true })
  })

  it.each(outcomes)("%o as a failed result in words", (outcome, words) => {
    const { isFailure, result } = ToolOutcome.toResult(outcome)
    assert.isTrue(isFailure)
    assert.match(result as string, words)
  })

  it("every reason for not having run in its own words", () => {
    const said = reasons.map((reason) => ToolOutcome.toResult({ _tag: "NotExecuted", reason }).result)
    assert.strictEqual(new Set(said).size, reasons.length)
  })

  it("an unknown outcome without being told that the call was not executed", () => {
    const { result: unknown } = ToolOutcome.toResult({ _tag: "OutcomeUnknown" })
    assert.notMatch(unknown as string, /not executed/i)
  })
})

it("every outcome is covered by these tests", () => {
  const tags = ToolOutcome.ToolOutcome.members.map((member) => member.fields._tag.schema.literal)
  const told = new Set(["Succeeded", "Failed", ...outcomes.map(([outcome]) => outcome._tag)])
  assert.deepStrictEqual(tags.filter((tag) => !told.has(tag)), [])
})

it("only failed and timed out calls count as errors", () => {
  const all: ReadonlyArray<ToolOutcome.ToolOutcome> = [
    { _tag: "Succeeded", result: null },
    { _tag: "Failed", result: null },
    ...outcomes.map(([outcome]) => outcome)
  ]
  assert.deepStrictEqual(all.filter(ToolOutcome.isError).map((outcome) => outcome._tag), ["Failed", "TimedOut"])
})
