import { assert, describe, it } from "@effect/vitest"
import * as Plan from "../../../src/cli/offline/Plan.ts"

const ask = (n: number): Plan.Ask => ({ tool: "t", params: { n } })
const said = (result: string, isFailure = false): Plan.Reply => ({ result, isFailure })

/** Asks for each number in turn and joins the replies. */
function* inTurn(...numbers: ReadonlyArray<number>): Plan.Plan<string> {
  let text = ""
  for (const n of numbers) {
    const [reply] = yield [ask(n)]
    text += reply!.result as string
  }
  return text
}

const known = (replies: Record<number, ReadonlyArray<Plan.Reply>>): Plan.Replies => ({ params }) =>
  replies[params.n as number] ?? []

describe("a plan", () => {
  it("asks only for what it has no reply to", () => {
    assert.deepStrictEqual(Plan.next(inTurn(1, 2), known({ 1: [said("a")] })), { _tag: "Ask", asks: [ask(2)] })
  })

  it("answers once all replies are in", () => {
    const replies = known({ 1: [said("a")], 2: [said("b")] })
    assert.deepStrictEqual(Plan.next(inTurn(1, 2, 1), replies), { _tag: "Answer", text: "aba" })
  })

  it("asks again if the run was cut off before the tool could reply, and uses the last reply", () => {
    const cut = said("Interrupted: the run ended while this call was running.", true)
    assert.deepStrictEqual(Plan.next(inTurn(1), known({ 1: [cut] })), { _tag: "Ask", asks: [ask(1)] })
    assert.deepStrictEqual(Plan.next(inTurn(1), known({ 1: [cut, said("a")] })), { _tag: "Answer", text: "a" })
    assert.strictEqual(Plan.next(inTurn(1), known({ 1: [cut, cut] }))._tag, "Answer")
  })

  it("uses a failure of the tool itself as its reply", () => {
    assert.deepStrictEqual(Plan.next(inTurn(1), known({ 1: [said("no", true)] })), { _tag: "Answer", text: "no" })
  })

  it("runs other plans side by side, each with its own replies", () => {
    function* both(): Plan.Plan<string> {
      return (yield* Plan.all([inTurn(1, 2), inTurn(3), inTurn()])).join("|")
    }
    assert.deepStrictEqual(Plan.next(both(), known({})), { _tag: "Ask", asks: [ask(1), ask(3)] })
    const some = known({ 1: [said("a")], 3: [said("c")] })
    assert.deepStrictEqual(Plan.next(both(), some), { _tag: "Ask", asks: [ask(2)] })
    const every = known({ 1: [said("a")], 2: [said("b")], 3: [said("c")] })
    assert.deepStrictEqual(Plan.next(both(), every), { _tag: "Answer", text: "ab|c|" })
  })

  it("makes equal calls only once", () => {
    function* twice(): Plan.Plan<string> {
      return (yield* Plan.all([inTurn(1), inTurn(1)])).join("|")
    }
    assert.deepStrictEqual(Plan.next(twice(), known({})), { _tag: "Ask", asks: [ask(1)] })
    assert.deepStrictEqual(Plan.next(twice(), known({ 1: [said("a")] })), { _tag: "Answer", text: "a|a" })
  })
})
