/** Reading from a compaction yields what reading the whole log does: the same state, and the same bytes of messages. */
import { assert, describe, it } from "@effect/vitest"
import type { Json } from "effect/Schema"
import * as Snapshot from "../../../src/run/log/Snapshot.ts"
import * as Message from "../../../src/run/Message.ts"
import type * as RunEvent from "../../../src/run/RunEvent.ts"
import * as RunState from "../../../src/run/RunState.ts"
import * as Transcript from "../../../src/run/Transcript.ts"
import * as Compactions from "../../support/Compactions.ts"
import * as Draft from "../../support/Drafts.ts"
import * as Logs from "../../support/Logs.ts"
import * as Odd from "../../support/Odd.ts"

const check = (runs: number) => ({ arbitrary: { runs, size: 60, seed: "snapshot" } })

type Compacted = Extract<RunEvent.Durable, { _tag: "ContextCompacted" }>

const isSame = (played: Logs.Log) => Compactions.checkSame(Compactions.withSnapshots(played))

describe("reading from a compaction", () => {
  it.prop("of a tidy session equals reading the whole log", [Logs.tidy], ([{ log }]) => isSame(log), check(300))

  it.prop("anywhere in a tidy session does, too", [Logs.tidy, Logs.seed], ([{ log }, seed]) => {
    isSame(Compactions.insert(log, seed, 0))
  }, check(400))

  it.prop("anywhere in what is left of an odd session does, too", [Logs.odd, Logs.seed], ([{ log }, seed]) => {
    isSame(Compactions.insert(Logs.subsequence(log, seed), seed, 0.3))
  }, check(400))

  it("that followed another replacement does, too, whether or not a turn was open then", () => {
    const summary = (n: number) => [Message.user(`summary ${n}`)]
    isSame(Draft.log(
      Draft.started("go"),
      Draft.turnStarted(1),
      Draft.assistant([{ type: "reasoning", text: "hm" }]),
      Draft.compacted(2, summary(2)),
      Draft.turnFinished(1),
      Draft.notice("go on"),
      Draft.compacted(1, summary(1)),
      Draft.compacted(5, summary(5))
    ))
  })

  it("in a turn that goes on with a paused one does, too, where both have only thought", () => {
    const model = Odd.models[0]!
    const thought = (text: string) => Draft.assistant([{ type: "reasoning", text }], { model })
    const paused = (turn: number) => ({
      ...Draft.turnFinished(turn),
      decision: { _tag: "Continue" as const, reason: "pause" as const }
    })
    isSame(Draft.log(
      Draft.started("go"),
      Draft.turnStarted(1),
      thought("hm"),
      paused(1),
      Draft.turnStarted(2),
      thought("so"),
      { ...Draft.aborted, reason: "crashed" },
      Draft.compacted(1, [Message.user("go")]),
      Draft.resumed(2),
      paused(2),
      Draft.turnStarted(3),
      Draft.assistant([Message.text("42")], { turn: 3, model })
    ))
  })

  it("that keeps two calls with one id of their provider does, too", () => {
    const search = (turn: number) => {
      const found = { type: "tool-result", id: "a", name: "search", result: "ok", isFailure: false } as const
      const hosted = { providerExecuted: true } as const
      const call = { ...Draft.call("search"), id: "a", ...hosted }
      return [Draft.turnStarted(turn), Draft.assistant([call, { ...found, ...hosted }], { turn })]
    }
    isSame(Draft.log(
      Draft.started("go"),
      ...search(1),
      Draft.turnFinished(1),
      Draft.input("and now?"),
      ...search(2),
      Draft.turnFinished(2),
      Draft.compacted(1, [Message.user("go")])
    ))
  })

  it("of a run that works for a call does, too", () => {
    const parent = { sessionId: "around", runId: "around", callId: "1.0" }
    isSame(Draft.log(
      { ...Draft.started("go"), parent },
      Draft.turnStarted(1),
      Draft.assistant([Message.text("a long answer")]),
      Draft.turnFinished(1),
      Draft.compacted(3, [Message.user("summary")])
    ))
  })
})

describe("a snapshot", () => {
  const text = (value: string) => [Message.text(value)]
  const drafts = [
    Draft.started("go", { data: { secret: 1 } }),
    Draft.turnStarted(1),
    Draft.assistant(text("a long answer")),
    Draft.turnFinished(1),
    Draft.completed(),
    { ...Draft.started("more", { data: { secret: 2 } }), runId: "run-2" },
    { ...Draft.turnStarted(1), runId: "run-2" },
    { ...Draft.compacted(3, [Message.user("summary")]), runId: "run-2" }
  ] as const
  const compacted = Compactions.withSnapshots(Draft.log(...drafts)).at(-1) as Compacted
  const changed = (change: Record<string, unknown>): Compacted => ({
    ...compacted,
    snapshot: { ...compacted.snapshot as object, ...change } as Json
  })
  const state = (compacted.snapshot as { readonly state: Record<string, Json> }).state

  it("says where the kept messages begin, and repeats none of them", () => {
    const start = Snapshot.startOf(compacted)!
    assert.deepStrictEqual([start.from, start.startSeq], [6, 6])
    assert.notInclude(JSON.stringify(compacted.snapshot), "more")
  })

  it("is missing before the first run", () => {
    assert.isUndefined(Snapshot.take(RunState.empty, Transcript.empty, 0))
  })

  const { crashes: _, ...older } = state
  const call = { turn: 1, callId: "1.0", tool: "work", params: {}, phase: "pending" }
  const withState = (change: Record<string, Json>): Compacted => changed({ state: { ...state, ...change } })
  const unreadable: Record<string, Compacted> = {
    "is missing": { ...compacted, snapshot: null },
    "is no object": { ...compacted, snapshot: "snapshot" },
    "is of another version": changed({ version: Snapshot.version + 1 }),
    "has events of another version": changed({ events: 0 }),
    "begins after its compaction": changed({ from: compacted.seq + 1 }),
    "begins nowhere": changed({ from: 0.5 }),
    "has no state": changed({ state: null }),
    "has a part of a state that is missing": changed({ state: { ...state, totals: null } }),
    "has a state that lacks what this version keeps": changed({ state: older }),
    "has a call that is none": withState({ openCalls: [null] }),
    "has a call in no phase": withState({ openCalls: [{ ...call, phase: "gone" }] }),
    "has a call without an id": withState({ openCalls: [{ ...call, callId: null }] }),
    "has a decision that is none": withState({ openCalls: [{ ...call, decision: "yes" }] }),
    "has a step that is none": withState({ trail: [{}] }),
    "has an input without messages": withState({ queued: [{ seq: 1, kind: "steer", isDue: true }] }),
    "has an answer without a message": withState({ answer: { calls: 1 } }),
    "has an end that is none": withState({ end: { _tag: "RunStarted" } }),
    "has a status that is none": withState({ status: "lost" }),
    "has counts that are none": withState({ started: { work: "1" } }),
    "has ids that are none": changed({ taken: [1] })
  }
  it("that has a pending call is read", () => {
    assert.isDefined(Snapshot.startOf(withState({ openCalls: [call] })))
  })

  for (const [what, event] of Object.entries(unreadable)) {
    it(`that ${what} is not read`, () => {
      assert.isDefined(Snapshot.startOf(compacted))
      assert.isUndefined(Snapshot.startOf(event))
    })
  }
})
