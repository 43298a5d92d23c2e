/** A call on a page while it waits for runs below it. */
import { assert, describe, it } from "@effect/vitest"
import {
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  type UIMessage
} from "ai"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type * as RunEvent from "../../../src/run/RunEvent.ts"
import * as Drafts from "../../../src/testing/sessions/Drafts.ts"
import * as UiPage from "../../support/UiPage.ts"

/** A person has allowed a call, which then waits for a question asked below it. */
const log = Drafts.log(
  Drafts.started("go"),
  Drafts.turnStarted(1),
  Drafts.assistant([Drafts.call("search", { n: 1 })]),
  Drafts.approvalRequested("1.0"),
  Drafts.suspended,
  { ...Drafts.approvalResolved("1.0"), approved: true },
  Drafts.resumed(2),
  Drafts.toolStarted("1.0", { n: 1 }),
  Drafts.toolPaused("1.0", { sessionId: "below", runId: "below" }),
  Drafts.suspended
)

const chunksOf = (events: ReadonlyArray<RunEvent.RunEvent>) => UiPage.chunksOf(Stream.fromIterable(events))

/** The message of a page that stayed open, with the answer it gave: what it showed before the pause is in `shown`. */
const stayed = Effect.fnUntraced(function*(shown: ReadonlyArray<RunEvent.RunEvent> = []) {
  const { last } = yield* UiPage.read(yield* chunksOf(log.slice(0, 5)))
  const answered = {
    ...last!,
    parts: last!.parts.map((part) =>
      "toolCallId" in part && part.state === "approval-requested"
        ? { ...part, state: "approval-responded", approval: { id: part.approval.id, approved: true } }
        : part
    )
  } as UIMessage
  const goneOn = yield* UiPage.read(yield* chunksOf([...log.slice(6, 8), ...shown, ...log.slice(8)]), answered)
  assert.deepStrictEqual(goneOn.errors, [])
  return goneOn.last!
})

const progress: RunEvent.RunEvent = {
  _tag: "ToolProgress",
  runId: "run-1",
  turn: 1,
  callId: "1.0",
  tool: "search",
  value: "half"
}

describe("a call that waits for runs below it, on a page", () => {
  for (const [name, shown] of [["", []], [", also one that had shown something", [progress]]] as const) {
    it.effect(`is under way: the page sends nothing by itself${name}`, () =>
      Effect.gen(function*() {
        const messages = [yield* stayed(shown)]
        assert.isFalse(lastAssistantMessageIsCompleteWithApprovalResponses({ messages }))
        assert.isFalse(lastAssistantMessageIsCompleteWithToolCalls({ messages }))
      }))

    it.effect(`is what a page that opens later begins with${name}`, () =>
      Effect.gen(function*() {
        const [, answer] = yield* UiPage.opened(log)
        assert.deepStrictEqual(UiPage.brief(yield* stayed(shown)), UiPage.brief(answer))
        assert.deepStrictEqual(UiPage.brief(answer), ["step-start", `tool-search {"n":1} input-available`])
      }))
  }
})
