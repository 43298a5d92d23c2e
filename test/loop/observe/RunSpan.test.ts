/** What the events of a drive put on its span, besides model calls and tools. */
import { assert, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Tracer from "effect/Tracer"
import * as RunSpan from "../../../src/loop/observe/RunSpan.ts"
import type * as RunEvent from "../../../src/run/RunEvent.ts"
import * as Drafts from "../../support/Drafts.ts"
import * as Traces from "../../support/Traces.ts"

/** The span of a drive that publishes these. */
const spanOf = (events: ReadonlyArray<RunEvent.RunEvent>) =>
  Effect.gen(function*() {
    const traces = Traces.make()
    const drive = { agent: "test/Agent", sessionId: "s", runId: "run-1", tools: { search: true } }
    const { sink } = yield* Effect.provideService(
      RunSpan.make(drive, Drafts.model, yield* Clock.Clock, undefined),
      Tracer.Tracer,
      traces.tracer
    )
    sink?.see?.(events as never)
    return traces.named("invoke_agent test/Agent")
  })

it.effect("fallbacks, compactions, notices and questions to people are events on the span of a drive, without content", () =>
  Effect.gen(function*() {
    const events = Drafts.log(
      { _tag: "ModelSwitched", turn: 1, from: Drafts.model, to: { provider: "other", name: "next" } },
      { ...Drafts.compacted(1, []), before: 9, after: 2 },
      Drafts.notice("SECRET", "doomLoop"),
      Drafts.approvalRequested("1.0"),
      { ...Drafts.approvalRequested("1.1"), tool: "SECRET" },
      Drafts.approvalResolved("1.0"),
      Drafts.approvalResolved("1.1", false)
    )
    const { events: told } = yield* spanOf(events)
    assert.deepStrictEqual(told.map(([name, , attributes]) => [name, attributes]), [
      ["fiberloop.model_switched", { "fiberloop.turn": 1, from: "test/model", to: "other/next" }],
      ["fiberloop.compacted", { strategy: "test", before: 9, after: 2 }],
      ["fiberloop.notice", { kind: "doomLoop" }],
      ["fiberloop.approval_requested", { "gen_ai.tool.name": "search", "fiberloop.tool.call.id": "1.0" }],
      ["fiberloop.approval_requested", { "gen_ai.tool.name": "_OTHER", "fiberloop.tool.call.id": "1.1" }],
      ["fiberloop.approval_resolved", { "fiberloop.tool.call.id": "1.0", approved: true }],
      ["fiberloop.approval_resolved", { "fiberloop.tool.call.id": "1.1", approved: false }]
    ])
  }))

it.effect("what a drive spent is on its span, without what was spent for its calls, which other spans have", () =>
  Effect.gen(function*() {
    const usage = { inputTokens: 10, outputTokens: 5 }
    const { attributes } = yield* spanOf(Drafts.log(
      Drafts.assistant([Drafts.call("search")], { usage }),
      Drafts.settled("1.0", "found", { usage: { inputTokens: 100, outputTokens: 50 } }),
      { ...Drafts.turnFinished(1), usage },
      Drafts.completed()
    ))
    assert.strictEqual(attributes.get("gen_ai.usage.input_tokens"), 10)
  }))
