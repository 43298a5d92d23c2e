/** A call that needs permission: nothing runs before the answer, and whatever it is, the run continues in order. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Digest from "../../src/loop/env/Digest.ts"
import * as Canonical from "../../src/run/Canonical.ts"
import type * as Approver from "../../src/services/Approver.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Approvals from "../support/Approvals.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as Watch from "../support/Watch.ts"

const turns = [TestAgent.work(1), ScriptedModel.text("ok")]
const again = (n: number, id?: string) => ScriptedModel.call("again", { n }, id)

/** What the model read of its calls in its last request. */
const read = ({ script }: TestAgent.TestAgent) =>
  Effect.map(script.requests, (requests) => {
    const last = requests.at(-1)?.messages.at(-1)
    return last?.role === "tool" ? last.content.map((part) => part.result) : []
  })

const start = Effect.fnUntraced(function*(made: TestAgent.TestAgent) {
  const run = yield* made.agent.start({ sessionId: "s", runId: "r", input: "go", data: "ada" })
  return { ...run, watch: yield* Watch.make(run.events) }
})

describe("a call that is allowed", () => {
  it.effect("is asked, answered, started and settled, in that order", () =>
    Effect.gen(function*() {
      const made = yield* Approvals.make(turns, { approver: Approvals.answering(() => Approvals.yes) })
      const events = yield* Stream.runCollect(made.agent.stream({ sessionId: "s", input: "go" }))
      assert.deepStrictEqual(Approvals.steps(events), [
        "ApprovalRequested 1.0",
        "ApprovalResolved 1.0 yes",
        "ToolStarted 1.0",
        "ToolSettled 1.0 Succeeded",
        "RunCompleted"
      ])
      assert.deepStrictEqual(RunLog.durable(events), yield* made.store.log("s"))
      assert.deepStrictEqual(Approvals.violations(yield* made.store.log("s")), [])
    }))

  it.effect("does not run before the answer", () =>
    Effect.gen(function*() {
      const approver = Approvals.desk()
      const made = yield* Approvals.make(turns, { approver })
      const { result } = yield* start(made)
      yield* approver.asked("1.0")
      yield* Effect.yieldNow
      assert.deepStrictEqual(made.ran, [])
      assert.deepStrictEqual(RunLog.only(yield* made.store.log("s"), "ToolStarted"), [])
      yield* approver.answer("1.0", Approvals.yes)
      assert.strictEqual((yield* result)._tag, "Completed")
      assert.deepStrictEqual(made.ran, [1])
    }))

  it.effect("is in the log as asked before the approver is asked", () =>
    Effect.gen(function*() {
      const approver = Approvals.desk()
      const made = yield* Approvals.make(turns, { approver })
      yield* start(made)
      const question = yield* approver.asked("1.0")
      const [event] = RunLog.only(yield* made.store.log("s"), "ApprovalRequested")
      const { approvalId, callId, digest, params, tool } = event!
      assert.deepStrictEqual(question, {
        sessionId: "s",
        runId: "r",
        approvalId,
        callId,
        data: "ada",
        digest,
        params,
        tool
      })
      assert.deepStrictEqual(params, { n: 1 })
      assert.strictEqual(digest, yield* Digest.sha256(Canonical.canonical({ n: 1 })))
    }))

  it.effect("records in the log who decided", () =>
    Effect.gen(function*() {
      const made = yield* Approvals.make(turns, { approver: Approvals.answering(() => Approvals.yes) })
      yield* made.agent.run({ sessionId: "s", input: "go" })
      const [event] = RunLog.only(yield* made.store.log("s"), "ApprovalResolved")
      assert.deepInclude(event, { approved: true, by: "ann" })
    }))
})

describe("a call that is denied", () => {
  it.effect("settles with the reason, which the model reads; its siblings run and the run continues", () =>
    Effect.gen(function*() {
      const made = yield* Approvals.make(
        [[TestAgent.work(1, "a"), TestAgent.look(2, "b")], ScriptedModel.text("ok")],
        { approver: Approvals.answering(() => Approvals.no("too dear")) }
      )
      const result = yield* made.agent.run({ sessionId: "s", input: "go" })
      assert.strictEqual(result._tag, "Completed")
      assert.deepStrictEqual(yield* read(made), ["Denied: too dear", "done 2"])
      assert.deepStrictEqual(made.ran, [2])
      assert.deepStrictEqual(Approvals.violations(yield* made.store.log("s")), [])
    }))

  it.effect("is no longer waited for when it settles", () =>
    Effect.gen(function*() {
      const made = yield* Approvals.make(turns, { approver: Approvals.answering(() => Approvals.no("too dear")) })
      const events = yield* Stream.runCollect(made.agent.stream({ sessionId: "s", input: "go" }))
      const seen = events.map((event) => event._tag === "StatusChanged" ? event.to : event._tag)
      const from = seen.indexOf("ApprovalRequested")
      assert.deepStrictEqual(seen.slice(from, from + 5), [
        "ApprovalRequested",
        "awaiting_human",
        "ApprovalResolved",
        "tool_running",
        "ToolSettled"
      ])
    }))

  it.effect("is no error: it does not end a run that stops on errors, and is not counted", () =>
    Effect.gen(function*() {
      const made = yield* Approvals.make(turns, {
        approver: Approvals.answering(() => ({ approved: false })),
        agent: { toolPolicy: { continueOnError: false } }
      })
      assert.strictEqual(
        (yield* made.agent.run({ sessionId: "s", input: "go", limits: { maxErrors: 0 } }))._tag,
        "Completed"
      )
      const { totals } = Approvals.fold(yield* made.store.log("s"))
      assert.deepInclude(totals, { errors: 0, toolCalls: 0 })
    }))

  it.effect("reaches the model legally whatever characters the reason holds", () =>
    Effect.gen(function*() {
      for (const reason of ["", " ", "\0", "\uD800", "a\0\uDC00b"]) {
        const made = yield* Approvals.make(turns, { approver: Approvals.answering(() => Approvals.no(reason)) })
        assert.strictEqual((yield* made.agent.run({ sessionId: "s", input: "go" }))._tag, "Completed")
      }
    }))
})

describe("which calls ask", () => {
  it.effect("undecodable arguments and unknown tools do not, and the model is told", () =>
    Effect.gen(function*() {
      const approver = Approvals.desk()
      const made = yield* Approvals.make(
        [
          [ScriptedModel.call("work", { n: "x" }, "a"), ScriptedModel.call("toString", {}, "b")],
          ScriptedModel.text("ok")
        ],
        { approver, agent: { toolPolicy: { requireApprovalByDefault: true } } }
      )
      yield* made.agent.run({ sessionId: "s", input: "go" })
      assert.deepStrictEqual(approver.questions, [])
      assert.deepStrictEqual(RunLog.outcomes(yield* made.store.log("s")), ["1.0 InvalidArguments", "1.1 UnknownTool"])
    }))

  it.effect("when approval is required by default, tools without a setting do and those that say no do not", () =>
    Effect.gen(function*() {
      const asked: Array<string> = []
      const approver = Approvals.answering(({ tool }) => (asked.push(tool), Approvals.yes))
      const made = yield* Approvals.make(
        [[TestAgent.work(1, "a"), TestAgent.look(2, "b"), again(3, "c")], ScriptedModel.text("ok")],
        { approver, agent: { toolPolicy: { requireApprovalByDefault: true } } }
      )
      yield* made.agent.run({ sessionId: "s", input: "go" })
      assert.deepStrictEqual(asked, ["work", "look"])
      assert.deepStrictEqual(made.ran, [1, 2, 3])
    }))

  it.effect("a call that a limit keeps from running does not", () =>
    Effect.gen(function*() {
      const approver = Approvals.desk()
      const made = yield* Approvals.make([TestAgent.work(1)], { approver })
      yield* made.agent.run({ sessionId: "s", input: "go", limits: { maxTurns: 1 } })
      assert.deepStrictEqual(approver.questions, [])
      assert.deepStrictEqual(RunLog.outcomes(yield* made.store.log("s")), ["1.0 NotExecuted(limit)"])
    }))

  it.effect("a rule reads the conversation up to the turn of its call, and no results of the turn's other calls", () =>
    Effect.gen(function*() {
      const seen: Array<ReadonlyArray<unknown>> = []
      const rule = TestAgent.kit.tools.work.setNeedsApproval((_, { messages }) => {
        seen.push(messages.map(({ content, role }) => {
          const part = typeof content === "string" ? undefined : content[0]
          return part?.type === "tool-result" ? [role, part.result] : [role, part?.type]
        }))
        return false
      })
      const calls = [TestAgent.work(1, "a"), TestAgent.work(2, "b")]
      const made = yield* Approvals.make([TestAgent.look(0, "l"), calls, ScriptedModel.text("ok")], {
        agent: { toolkit: Approvals.withWork(rule) }
      })
      yield* made.agent.run({ sessionId: "s", input: "go" })
      const before = [["user", "text"], ["assistant", "tool-call"], ["tool", "done 0"]]
      assert.deepStrictEqual(seen, [before, before])
    }))
})

describe("an approver", () => {
  const broken = {
    "that dies": Effect.die("bug"),
    "that interrupts itself": Effect.interrupt,
    "that fails against its type": Effect.fail("no") as Effect.Effect<never>
  }
  for (const [name, ask] of Object.entries(broken)) {
    it.effect(`${name} counts as nobody`, () =>
      Effect.gen(function*() {
        const made = yield* Approvals.make(turns, { approver: { ask: () => ask } })
        assert.strictEqual((yield* made.agent.run({ sessionId: "s", input: "go" }))._tag, "Suspended")
        assert.deepStrictEqual(made.ran, [])
      }))
  }

  it.effect("that throws instead of returning an effect counts as nobody", () =>
    Effect.gen(function*() {
      const ask = () => {
        throw new Error("bug")
      }
      const made = yield* Approvals.make(turns, { approver: { ask } })
      assert.strictEqual((yield* made.agent.run({ sessionId: "s", input: "go" }))._tag, "Suspended")
      assert.deepStrictEqual(made.ran, [])
    }))
})

describe("an approver from untyped code", () => {
  const asking = Effect.fnUntraced(function*(answer: unknown) {
    const made = yield* Approvals.make([TestAgent.work(1), ScriptedModel.text("ok")], {
      approver: { ask: () => Effect.succeed(answer as Approver.Answer) }
    })
    const result = yield* made.agent.run({ sessionId: "s", runId: "r", input: "go" })
    const log = yield* made.store.log("s")
    assert.deepStrictEqual(RunLog.violations(log), [])
    return { result, log }
  })

  const throwing = {
    get approved() {
      throw new Error("bug")
    }
  }
  it.effect("that answers neither yes nor no counts as nobody", () =>
    Effect.gen(function*() {
      for (const answer of [null, "yes", NaN, {}, { approved: "false" }, { approved: 1 }, throwing]) {
        assert.strictEqual((yield* asking(answer)).result._tag, "Suspended")
      }
    }))

  const circle: Record<string, unknown> = {}
  circle["in"] = circle
  for (const [what, words] of Object.entries({ "a circle": circle, "a bigint": 1n, "a number": 5, "null": null })) {
    it.effect(`that gives ${what} as the decider or the reason is heard without it`, () =>
      Effect.gen(function*() {
        const yes = yield* asking({ approved: true, by: words })
        assert.deepStrictEqual(RunLog.outcomes(yes.log), ["1.0 Succeeded"])
        const no = yield* asking({ approved: false, reason: words })
        assert.deepStrictEqual(RunLog.outcomes(no.log), ["1.0 Denied"])
        for (const event of RunLog.only([...yes.log, ...no.log], "ApprovalResolved")) {
          assert.doesNotHaveAnyKeys(event, ["by", "reason"])
        }
      }))
  }

  it.effect("that gives more words than a store holds is heard with the first of them", () =>
    Effect.gen(function*() {
      const { log } = yield* asking({ approved: false, reason: "no ".repeat(6_000_000) })
      const [settled] = RunLog.only(log, "ToolSettled")
      assert.isBelow(settled?.outcome._tag === "Denied" ? settled.outcome.reason.length : NaN, 20_000)
    }))
})
