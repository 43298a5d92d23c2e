/** Calls that a person answers with a result: through the approver here, and for tools that accept nothing else. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Approver from "../../src/services/Approver.ts"
import { NeedsResult } from "../../src/services/NeedsResult.ts"
import * as Approvals from "../support/Approvals.ts"
import * as RunLog from "../support/RunLog.ts"
import * as Suspended from "../support/Suspended.ts"
import * as TestAgent from "../support/TestAgent.ts"

const result = "by hand"
const invalid = { _tag: "InvalidInput", field: "result" } as const

describe("the approver here", () => {
  const make = (answer: unknown) =>
    Suspended.make(TestAgent.work(1), { approver: Approvals.answering(() => answer as Approver.Answer) })

  it.effect("may give the result", () =>
    Effect.gen(function*() {
      const made = yield* make({ approved: true, by: "ann", result })
      assert.deepStrictEqual(made.ran, [])
      assert.deepStrictEqual(yield* made.read, [result])
    }))

  it.effect.each([{ approved: true, result: 7 }, { approved: true, result, params: { n: 1 } }])(
    "denies the call with an invalid result, and the model reads why: %j",
    (answer) =>
      Effect.gen(function*() {
        const made = yield* make(answer)
        assert.deepStrictEqual(made.ran, [])
        assert.match(String((yield* made.read)[0]), /^Denied: the call was given a result, but result /)
      })
  )

  it.effect("is not heard with a result beside a no", () =>
    Effect.gen(function*() {
      const made = yield* make({ approved: false, result })
      assert.deepStrictEqual(RunLog.outcomes(yield* made.log), ["1.0 Denied"])
    }))
})

describe("a tool that needs a person's result", () => {
  const toolkit = Approvals.withWork(TestAgent.kit.tools.work.annotate(NeedsResult, true) as never)
  const make = (options: Parameters<typeof Suspended.make>[1] = {}) =>
    Suspended.make(TestAgent.work(1), { agent: { toolkit }, ...options })

  it.effect("always asks, and its question says so", () =>
    Effect.gen(function*() {
      const made = yield* make()
      const [question] = yield* made.agent.approvals("s")
      assert.strictEqual(question?.needsResult, true)
      assert.deepInclude(RunLog.only(yield* made.log, "ApprovalRequested")[0], { needsResult: true })
    }))

  it.effect("refuses a yes without a result, and accepts a no", () =>
    Effect.gen(function*() {
      const made = yield* make()
      const error = yield* Effect.flip(made.decide("1.0"))
      assert.deepInclude(error.reason, invalid)
      assert.match(error.message, /^result is missing: "work" is answered by a person/)
      assert.deepInclude((yield* Effect.flip(made.decide("1.0", { params: { n: 2 } }))).reason, invalid)
      yield* made.decide("1.0", { approved: false, reason: "ask me later" })
      yield* made.resume()
      assert.deepStrictEqual(yield* made.read, ["Denied: ask me later"])
    }))

  it.effect("can be answered from a process that does not know this", () =>
    Effect.gen(function*() {
      const made = yield* make()
      const other = yield* Suspended.elsewhere(made)
      assert.deepInclude((yield* Effect.flip(other.decide("1.0"))).reason, invalid)
      yield* other.decide("1.0", { result })
      yield* other.resume()
      assert.deepStrictEqual(yield* other.read, [result])
    }))

  it.effect("keeps waiting when the approver here gives a mere yes", () =>
    Effect.gen(function*() {
      const made = yield* make({ approver: Approvals.answering(() => Approvals.yes) })
      assert.deepStrictEqual(yield* made.waiting, ["1.0"])
      yield* made.decide("1.0", { result })
      yield* made.resume()
      assert.deepStrictEqual(made.ran, [])
      assert.deepStrictEqual(yield* made.read, [result])
    }))
})

describe("a tool that has since come to need a person's result", () => {
  const agent = { toolkit: Approvals.withWork(TestAgent.kit.tools.work.annotate(NeedsResult, true) as never) }

  it.effect.each([{}, { params: { n: 2 } }])(
    "does not run on an earlier yes, but asks again: %j",
    (decision) =>
      Effect.gen(function*() {
        const made = yield* Suspended.make()
        yield* made.decide("1.0", decision)
        const other = yield* Suspended.elsewhere(made, { agent })
        yield* other.resume()
        const [question] = yield* other.agent.approvals("s")
        assert.deepInclude(question, { callId: "1.0", needsResult: true, params: { n: 1, ...decision.params } })
        yield* other.agent.decide({ sessionId: "s", approvalId: question!.id, approved: true, result })
        yield* other.resume()
        assert.deepStrictEqual(other.ran, [])
        assert.deepStrictEqual(yield* other.read, [result])
        assert.deepStrictEqual(RunLog.violations(yield* other.log), [])
      })
  )

  it.effect("refuses a mere yes to an earlier question, even from the approver here", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make()
      const other = yield* Suspended.elsewhere(made, { agent, approver: Approvals.answering(() => Approvals.yes) })
      assert.deepInclude((yield* Effect.flip(other.decide("1.0"))).reason, invalid)
      yield* other.resume()
      assert.deepStrictEqual(yield* other.waiting, ["1.0"])
      assert.deepStrictEqual(other.ran, [])
    }))
})
