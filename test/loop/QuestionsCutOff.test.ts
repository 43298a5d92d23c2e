/** What is asked below a call that was cut off: nobody waits for it, so nobody is asked, and no answer counts. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as RunEvent from "../../src/run/RunEvent.ts"
import { SessionStore } from "../../src/services/SessionStore.ts"
import { ToolCall } from "../../src/services/ToolCall.ts"
import * as Sessions from "../../src/Sessions.ts"
import * as DeadRun from "../support/DeadRun.ts"
import * as Drafts from "../support/Drafts.ts"
import * as Family from "../support/Family.ts"
import * as RunLog from "../support/RunLog.ts"

type Made = Effect.Success<ReturnType<typeof Family.make>>

/** The ids of all questions of the store. */
const asking = ({ store }: Made) =>
  Stream.runCollect(Sessions.asking).pipe(
    Effect.map((all) => all.flatMap(({ approvals }) => approvals.map(({ id }) => id))),
    Effect.provideService(SessionStore, store.service)
  )

/** The root asks an agent that asks an agent whose call needs a yes. */
const deep = { turns: [[{ turns: [[{ turns: [[{ by: "buy" as const }]] }]] }]] }

const waiting = Effect.gen(function*() {
  const made = yield* Family.make()
  yield* made.root(deep)
  const [id = ""] = yield* asking(made)
  const sessions = (yield* made.store.service.list()).map(({ sessionId }) => sessionId)
  const asked = sessions.find((sessionId) => id.startsWith(`${sessionId}/`)) ?? ""
  return { ...made, id, asked }
})

describe("a question two levels below a call", () => {
  it.effect("waits while all calls above are open", () =>
    Effect.gen(function*() {
      const made = yield* waiting
      assert.deepStrictEqual((yield* made.agent.approvals(made.asked)).map(({ id }) => id), [made.id])
      yield* made.agent.decide({ sessionId: made.asked, approvalId: made.id, approved: true })
      assert.strictEqual((yield* made.agent.resumeRun({ sessionId: "root" }))._tag, "Completed")
    }))

  it.effect.each<readonly [string, (made: Made) => Effect.Effect<unknown, unknown>]>([
    ["the run above is aborted", ({ agent }) => agent.abort("root")],
    ["the session above gets a new message", ({ agent }) => agent.run({ sessionId: "root", input: "{}" })]
  ])("is closed once %s", ([, cut]) =>
    Effect.gen(function*() {
      const made = yield* waiting
      yield* cut(made)
      yield* made.agent.run({ sessionId: "root", input: "{}" })
      assert.deepStrictEqual(yield* asking(made), [])
      assert.deepStrictEqual(yield* made.agent.approvals(made.asked), [])
      const decision = { sessionId: made.asked, approvalId: made.id, approved: true }
      const refused = [made.agent.decide(decision), Effect.provide(Sessions.decide(decision), made.store.layer)]
      for (const answer of refused) {
        const { reason } = yield* Effect.flip(answer)
        assert.deepInclude(reason, { _tag: "ApprovalNotOpen", because: "cutOff" })
      }
      assert.deepStrictEqual(RunLog.only(yield* made.store.log(made.asked), "ApprovalResolved"), [])
    }))

  it.effect("waits again once its own run was resumed after that, and its answer counts", () =>
    Effect.gen(function*() {
      const made = yield* waiting
      yield* made.agent.abort("root")
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* made.agent.resumeRun({ sessionId: made.asked }))._tag, "Suspended")
      assert.deepStrictEqual(yield* asking(made), [made.id])
      assert.deepStrictEqual((yield* made.agent.approvals(made.asked)).map(({ id }) => id), [made.id])
      yield* made.agent.decide({ sessionId: made.asked, approvalId: made.id, approved: true })
      assert.strictEqual((yield* made.agent.resumeRun({ sessionId: made.asked }))._tag, "Completed")
    }))
})

describe("a question in a fork of a session below a call", () => {
  it.effect("waits on when the call that the original works for is cut off, and its answer counts", () =>
    Effect.gen(function*() {
      const made = yield* waiting
      yield* made.store.service.fork(made.asked, { to: "copy" })
      yield* made.agent.abort("root")
      assert.deepStrictEqual((yield* made.agent.approvals("copy")).map(({ id }) => id), [made.id])
      assert.deepStrictEqual(yield* asking(made), [made.id])
      yield* made.agent.decide({ sessionId: "copy", approvalId: made.id, approved: true })
      assert.strictEqual((yield* made.agent.resumeRun({ sessionId: "copy" }))._tag, "Completed")
    }))

  it.effect("waits on below a call that the fork made", () =>
    Effect.gen(function*() {
      const made = yield* Family.make()
      const asks = [{ turns: [[{ by: "buy" as const }]] }]
      yield* made.root({ turns: [[{ turns: [asks, asks] }]] })
      yield* made.store.service.fork("root//1.0", { to: "copy" })
      assert.strictEqual((yield* made.agent.resumeRun({ sessionId: "copy" }))._tag, "Suspended")
      yield* TestClock.adjust("1 second")
      yield* made.agent.abort("root")
      const questions = yield* made.agent.approvals("copy")
      assert.lengthOf(questions, 1)
      assert.deepStrictEqual(yield* asking(made), questions.map(({ id }) => id))
    }))
})

describe("a question below a call", () => {
  const call = { sessionId: "above", runId: "run-1", callId: "1.0" }
  const made = Effect.fnUntraced(function*(settled: ReadonlyArray<Drafts.Placed>, parent = call) {
    const family = yield* Family.make()
    yield* DeadRun.write(family.store, "above", [...DeadRun.inTools("ask"), ...settled])
    yield* DeadRun.write(family.store, "below", [
      { ...Drafts.started("go"), parent },
      Drafts.turnStarted(1),
      Drafts.assistant([Drafts.call("buy", {})]),
      { ...Drafts.approvalRequested("1.0"), approvalId: "below/1.0", tool: "buy" },
      Drafts.suspended
    ])
    return yield* asking(family)
  })

  it.effect("goes on waiting where the handler has returned, or its run is elsewhere, or claims to work for itself", () =>
    Effect.gen(function*() {
      const returned = Drafts.settled("1.0", { _tag: "Succeeded", result: "it is begun" })
      assert.deepStrictEqual(yield* made([returned]), ["below/1.0"])
      assert.deepStrictEqual(yield* made([], { ...call, sessionId: "elsewhere" }), ["below/1.0"])
      assert.deepStrictEqual(yield* made([], { ...call, sessionId: "below" }), ["below/1.0"])
      assert.deepStrictEqual(yield* made([Drafts.settled("1.0", { _tag: "Interrupted" })]), [])
    }))

  it.effect("goes on waiting where what is above it cannot be read", () =>
    Effect.gen(function*() {
      const newer = { ...Drafts.notice("newer"), version: RunEvent.version + 1 }
      assert.deepStrictEqual(yield* made([newer]), ["below/1.0"])
    }))

  it.effect("waits again once its run was resumed after its call was cut off, and its answer counts", () =>
    Effect.gen(function*() {
      const family = yield* Family.make()
      yield* family.root({ turns: [[{ turns: [[{ turns: [[{ by: "buy" }]] }]] }]] })
      const [id = ""] = yield* asking(family)
      yield* family.agent.abort("root")
      assert.deepStrictEqual(yield* asking(family), [])
      yield* TestClock.adjust("1 second")
      const result = yield* family.agent.resumeRun({ sessionId: "root//1.0" })
      assert(result._tag === "Suspended")
      const [question] = result.approvals
      assert.strictEqual(question?.id, id)
      assert.deepStrictEqual(yield* asking(family), [id])
      yield* family.agent.decide({ sessionId: question!.sessionId, approvalId: id, approved: true })
      assert.strictEqual((yield* family.agent.resumeRun({ sessionId: "root//1.0" }))._tag, "Completed")
    }))

  it.effect("waits again where another call goes on with its run", () =>
    Effect.gen(function*() {
      const inManager = (agent: Family.Client, plan: Family.Plan, isBegun: boolean) =>
        Effect.gen(function*() {
          const result = yield* isBegun
            ? agent.resumeRun({ sessionId: "manager" })
            : agent.run({ sessionId: "manager", input: JSON.stringify(plan) })
          return result._tag === "Suspended" ? yield* ToolCall.pause(result) : result.text
        })
      let calls = 0
      const family = yield* Family.make({
        handler: (agent, plan, call) =>
          call.sessionId === "root" ? inManager(agent, plan, calls++ > 0) : Family.run(agent, plan, call)
      })
      const plan = { turns: [[{ turns: [[{ by: "buy" as const }]] }]] }
      yield* family.agent.run({ sessionId: "root", input: JSON.stringify(plan) })
      // the new message settles the call, and its model calls again
      yield* family.agent.run({ sessionId: "root", input: JSON.stringify(plan) })
      const [question] = yield* family.agent.approvals("root")
      assert.deepStrictEqual(yield* asking(family), [question!.id])
      yield* family.agent.decide({ sessionId: "manager", approvalId: question!.id, approved: true })
      assert.strictEqual((yield* family.agent.resumeRun({ sessionId: "root" }))._tag, "Completed")
    }))
})
