/** What a tool shows its model beside its result: texts and files, in the log, in requests, and after hooks. */
import { assert, describe, it } from "@effect/vitest"
import * as Prompt from "effect/ai/Prompt"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Message from "../../src/run/Message.ts"
import type * as ToolOutcome from "../../src/run/ToolOutcome.ts"
import * as UiMessages from "../../src/run/UiMessages.ts"
import type { Hook } from "../../src/services/Hooks.ts"
import type * as Model from "../../src/services/Model.ts"
import { ToolCall } from "../../src/services/ToolCall.ts"
import * as Recorded from "../../src/testing/Recorded.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Approvals from "../support/Approvals.ts"
import * as Drafts from "../support/Drafts.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"

const png = "iVBORw0KGgo="

/** Its model sees a picture of its result. */
const work = Tool.make("work", {
  parameters: Schema.Struct({ n: Schema.Finite }),
  success: Schema.String,
  failure: Schema.String,
  dependencies: [ToolCall],
  toModelOutput: (result) => [
    Prompt.textPart({ text: `a picture of ${result}` }),
    Prompt.filePart({ mediaType: "image/png", data: png })
  ]
})

const toolkit = Approvals.withWork(work as typeof TestAgent.kit.tools.work)

const picture = (of: string): ToolOutcome.Content => [
  Message.text(`a picture of ${of}`),
  { type: "file", mediaType: "image/png", data: png }
]

/** A run with one call of "work", and what its model and its log have of that. */
const drawn = Effect.fnUntraced(function*(hooks: ReadonlyArray<Hook> = []) {
  const made = yield* TestAgent.make([TestAgent.work(1), ScriptedModel.text("ok")], { agent: { toolkit, hooks } })
  yield* made.agent.run({ sessionId: "s", runId: "r", input: "go" })
  const log = yield* made.store.log("s")
  return {
    ...made,
    log,
    outcome: RunLog.only(log, "ToolSettled")[0]?.outcome,
    shown: shownIn(yield* made.script.requests)
  }
})

/** The results in the last request. */
const shownIn = (requests: ReadonlyArray<Model.ModelRequest>) =>
  requests.at(-1)!.messages.flatMap((message) => message.role === "tool" ? message.content : [])

const changing = (change: (outcome: ToolOutcome.ToolOutcome) => ToolOutcome.ToolOutcome): Hook => ({
  name: "changing",
  afterToolCall: ({ outcome }) => Effect.sync(() => ({ outcome: change(outcome) }))
})

describe("what a tool shows its model", () => {
  it.effect("is stored beside the result, and is what the model reads", () =>
    Effect.gen(function*() {
      const { log, outcome, shown } = yield* drawn()
      const content = picture("done 1")
      assert.deepStrictEqual(outcome, { _tag: "Succeeded", result: "done 1", content })
      assert.lengthOf(shown, 1)
      assert.deepInclude(shown[0], { result: "done 1", content, isFailure: false })
      assert.deepStrictEqual(RunLog.violations(log), [])
    }))

  it.effect("is not what a page sees: that has the result", () =>
    Effect.gen(function*() {
      const { log } = yield* drawn()
      const messages = yield* UiMessages.messages()(Stream.fromIterable(log))
      assert.include(JSON.stringify(messages), `"output":"done 1"`)
      assert.notInclude(JSON.stringify(messages), png)
    }))

  it.effect("goes with a result that a hook changes without it: the model reads that result", () =>
    Effect.gen(function*() {
      const { outcome, shown } = yield* drawn([
        changing((outcome) => ({ ...outcome, result: "****" } as typeof outcome))
      ])
      assert.deepStrictEqual(outcome, { _tag: "Succeeded", result: "****" })
      assert.isFalse("content" in shown[0]!)
    }))

  it.effect("stays where a hook changes it too, or leaves all as it was", () =>
    Effect.gen(function*() {
      const content = [Message.text("nothing to see")]
      const both = yield* drawn([changing(() => ({ _tag: "Succeeded", result: "****", content }))])
      assert.deepStrictEqual(both.outcome, { _tag: "Succeeded", result: "****", content })
      const copied = yield* drawn([changing((outcome) => JSON.parse(JSON.stringify(outcome)))])
      assert.deepStrictEqual(copied.outcome, { _tag: "Succeeded", result: "done 1", content: picture("done 1") })
    }))

  it.effect("is not sent beside a result that a hook before the model call has changed, and is where that left it", () =>
    Effect.gen(function*() {
      const masking: Hook = {
        name: "masking",
        beforeModelCall: ({ messages }) =>
          Effect.sync(() => ({ messages: JSON.parse(JSON.stringify(messages).replaceAll(`"done 1"`, `"****"`)) }))
      }
      const masked = yield* drawn([masking])
      assert.deepInclude(masked.shown[0], { result: "****" })
      assert.isFalse("content" in masked.shown[0]!)
      const copying: Hook = {
        name: "copying",
        beforeModelCall: ({ messages }) => Effect.sync(() => ({ messages: JSON.parse(JSON.stringify(messages)) }))
      }
      assert.deepInclude((yield* drawn([copying])).shown[0], { result: "done 1", content: picture("done 1") })
    }))

  it.effect("may come from a hook that answers in the tool's place", () =>
    Effect.gen(function*() {
      const content = picture("the cache")
      const answering: Hook = {
        name: "cache",
        beforeToolCall: () => Effect.succeed({ _tag: "Answer", result: 7, content })
      }
      const { outcome } = yield* drawn([answering])
      assert.deepStrictEqual(outcome, { _tag: "Succeeded", result: 7, content })
    }))

  it.effect("is shown of a result, too, that a person gives in the tool's place", () =>
    Effect.gen(function*() {
      const asking = Approvals.withWork(work.setNeedsApproval(true) as typeof TestAgent.kit.tools.work)
      const { agent, script, store } = yield* Approvals.make([TestAgent.work(1), ScriptedModel.text("ok")], {
        agent: { toolkit: asking }
      })
      yield* agent.run({ sessionId: "s", runId: "r", input: "go" })
      yield* agent.decide({ sessionId: "s", approvalId: "r/1.0", approved: true, result: "a house" })
      yield* agent.resumeRun({ sessionId: "s" })
      const [settled] = RunLog.only(yield* store.log("s"), "ToolSettled")
      assert.deepStrictEqual(settled?.outcome, { _tag: "Succeeded", result: "a house", content: picture("a house") })
      assert.deepInclude(shownIn(yield* script.requests)[0], { content: picture("a house") })
    }))

  it.effect("is there again where the recorded run goes again", () =>
    Effect.gen(function*() {
      const { log } = yield* drawn()
      const again = yield* drawn([Recorded.outcomes(log)])
      assert.deepStrictEqual(again.outcome, { _tag: "Succeeded", result: "done 1", content: picture("done 1") })
    }))

  it("says, and not the result, whether a call goes as the one before it", () => {
    const round = (n: number, of: string) => [
      Drafts.turnStarted(n),
      Drafts.assistant([Drafts.call("work", { n: 1 })], { turn: n }),
      Drafts.settled(`${n}.0`, { _tag: "Succeeded", result: { at: n }, content: picture(of) }),
      Drafts.turnFinished(n)
    ]
    const outcomes = (...of: ReadonlyArray<string>) =>
      Approvals.fold(Drafts.log(Drafts.started("go"), ...of.flatMap((one, i) => round(i + 1, one)))).trail
        .map(({ outcome }) => outcome)
    const [a, b, c] = outcomes("a", "a", "b")
    assert.strictEqual(a, b)
    assert.notStrictEqual(a, c)
  })
})
