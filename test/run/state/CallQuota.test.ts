/** Which calls of a message exceed a policy's quota, and how policies combine. */
import { assert, describe, it } from "@effect/vitest"
import * as RunPolicy from "../../../src/run/RunPolicy.ts"
import * as RunState from "../../../src/run/RunState.ts"
import * as CallQuota from "../../../src/run/state/CallQuota.ts"
import type * as OpenCall from "../../../src/run/state/OpenCall.ts"
import * as Draft from "../../support/Drafts.ts"

const calls = (tools: string): ReadonlyArray<OpenCall.OpenCall> =>
  Array.from(tools, (tool, index) => ({
    turn: 1,
    callId: `1.${index}`,
    tool: tool.toLowerCase(),
    params: {},
    // in capitals: an earlier drive started it
    phase: tool === tool.toLowerCase() ? "pending" : "started"
  }))

describe("the calls beyond a quota", () => {
  it.each<readonly [CallQuota.CallQuota, CallQuota.Started, string, ReadonlyArray<number>]>([
    [{}, { a: 9 }, "aaa", []],
    [0, {}, "ab", [0, 1]],
    [1, {}, "ab", [1]],
    [2, { a: 1 }, "ba", [1]],
    [2, { a: 5 }, "b", [0]],
    [Infinity, { a: 5 }, "bbb", []],
    [{ a: 1 }, {}, "aba", [2]],
    [{ a: 1 }, { a: 1 }, "ab", [0]],
    [{ a: 0 }, {}, "ab", [0]],
    [{ a: 1, "*": 2 }, {}, "aabb", [1, 3]],
    [{ a: 1 }, { a: 1 }, "Aa", [1]],
    [{ "*": 2 }, { a: 1, b: 1 }, "ABa", [2]]
  ])("of %o with %o started, among %s, are %o", (quota, started, tools, places) => {
    const beyond = CallQuota.beyond(quota, started, calls(tools))
    assert.deepStrictEqual(beyond.map(({ callId }) => callId), places.map((place) => `1.${place}`))
  })
})

describe("two policies", () => {
  it.each<readonly [CallQuota.CallQuota | undefined, CallQuota.CallQuota | undefined, CallQuota.CallQuota | undefined]>(
    [
      [undefined, undefined, undefined],
      [5, undefined, { "*": 5 }],
      [undefined, { a: 1 }, { a: 1 }],
      [5, 3, { "*": 3 }],
      [3, 5, { "*": 3 }],
      [5, { a: 1 }, { "*": 5, a: 1 }],
      [{ a: 1, b: 2 }, { a: 2, b: 1, c: 0 }, { a: 1, b: 1, c: 0 }],
      [{ a: 1 }, { a: Infinity }, { a: 1 }],
      [Infinity, { a: Infinity }, undefined]
    ]
  )("of %o and %o allow %o", (base, over, both) => {
    const policy = (maxCallsPerRun: CallQuota.CallQuota | undefined) =>
      maxCallsPerRun === undefined ? {} : { maxCallsPerRun }
    assert.deepStrictEqual(RunPolicy.narrow(policy(base), policy(over)), policy(both))
  })
})

describe("the calls that a run has started", () => {
  const started = (...drafts: ReadonlyArray<Draft.Placed>) =>
    Draft.log(...drafts).reduce(RunState.evolve, RunState.empty).started
  const asked = (...tools: ReadonlyArray<string>) => Draft.assistant(tools.map((tool) => Draft.call(tool)))

  it("are counted by tool, each once however often it is tried", () => {
    const drafts = [
      Draft.started("go"),
      asked("search", "constructor", "search", "pay"),
      Draft.toolStarted("1.0"),
      Draft.toolStarted("1.1"),
      Draft.toolStarted("1.2"),
      Draft.settled("1.3", { _tag: "Denied", reason: "no" }),
      { ...Draft.aborted, reason: "crashed" } as const,
      Draft.resumed(2),
      Draft.toolStarted("1.0"),
      Draft.settled("1.0", "ok")
    ]
    assert.deepStrictEqual(started(...drafts), { search: 2, constructor: 1 })
    assert.deepStrictEqual(started(...drafts, { ...Draft.started("more"), runId: "run-2" }), {})
  })

  it("do not include calls that are not open", () => {
    assert.deepStrictEqual(started(Draft.started("go"), Draft.toolStarted("1.0")), {})
  })
})
