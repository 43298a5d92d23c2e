/** What a loop is: the same calls with the same results, in a row, whatever order parallel calls settle in. */
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import * as DoomLoop from "../../src/run/DoomLoop.ts"
import * as RunState from "../../src/run/RunState.ts"
import * as OpenCall from "../../src/run/state/OpenCall.ts"
import type * as ToolOutcome from "../../src/run/ToolOutcome.ts"
import * as Draft from "../support/Drafts.ts"
import * as Logs from "../support/Logs.ts"
import { dice } from "../support/Odd.ts"

interface Made {
  readonly tool?: string
  readonly params?: Schema.Json
  readonly outcome?: ToolOutcome.ToolOutcome
}

const succeeded = (result: Schema.Json): ToolOutcome.ToolOutcome => ({ _tag: "Succeeded", result })

const settle = (trail: DoomLoop.Trail, turn: number, index: number, made: Made): DoomLoop.Trail => {
  const { outcome = succeeded("ok"), params = {}, tool = "work" } = made
  return DoomLoop.add(trail, { turn, callId: OpenCall.callId(turn, index), tool, params }, {
    outcome
  })
}

/** Each call in a turn of its own. */
const trailOf = (calls: ReadonlyArray<Made>): DoomLoop.Trail =>
  calls.reduce((trail, call, turn) => settle(trail, turn, 0, call), [] as DoomLoop.Trail)

const judge = (calls: ReadonlyArray<Made>, settings: Partial<DoomLoop.Settings> = {}) =>
  DoomLoop.judge(trailOf(calls), { ...DoomLoop.defaults, ...settings })

/** Calls by letter: each letter has its own tool and arguments. */
const word = (letters: string): ReadonlyArray<Made> =>
  Array.from(letters, (letter) => ({ tool: letter, params: { letter } }))

describe("a loop", () => {
  it.each<readonly [string, number, string]>([
    ["AAA", 3, "A"],
    ["AAAA", 4, "A"],
    ["BAAA", 3, "A"],
    ["ABABAB", 3, "A and B"],
    ["XABABAB", 3, "A and B"],
    ["AABAABAAB", 3, "A and B"],
    ["ABCDEFGHABCDEFGHABCDEFGH", 3, "A, B, C, D, E, F, G and H"]
  ])("ends %s: %i times", (letters, count, tools) => {
    const verdict = judge(word(letters))!
    assert.strictEqual(verdict.next, "tell")
    assert.strictEqual(verdict.loop.count, count)
    assert.strictEqual(DoomLoop.tools(verdict.loop), tools)
  })

  it.each(["", "A", "AA", "ABAB", "AAAB", "ABABA", "AABB", "ABCAB", "ABABAC"])("does not end %s", (letters) => {
    assert.isUndefined(judge(word(letters)))
  })

  it("needs the same arguments and the same results each time", () => {
    assert.isUndefined(judge([1, 2, 3].map((n) => ({ params: { n } }))))
    assert.isUndefined(judge([1, 2, 3].map((n) => ({ outcome: succeeded(n) }))))
    assert.isUndefined(judge([{ outcome: succeeded("x") }, { outcome: { _tag: "Failed", result: "x" } }, {
      outcome: succeeded("x")
    }]))
  })

  it("is looked for in the last 64 calls, in whatever order those of a turn settle", () => {
    const kept = Array.from({ length: 64 }, (_, i) => OpenCall.callId(1, i + 36))
    const all = Array.from({ length: 100 }, (_, i) => i)
    for (const order of [all, [...all.slice(50).reverse(), ...all.slice(0, 50)], all.toReversed()]) {
      const trail = order.reduce((trail, index) => settle(trail, 1, index, {}), [] as DoomLoop.Trail)
      assert.deepStrictEqual(trail.map(({ callId }) => callId), kept)
    }
  })

  it("compares texts in full, however little of them is kept", () => {
    const long = "x".repeat(5000)
    assert.isUndefined(judge([1, 2, 3].map((n) => ({ outcome: succeeded(long + n) }))))
    assert.isUndefined(judge([1, 2, 3].map((n) => ({ params: { long, n } }))))
    assert.isUndefined(judge([1, 2, 3].map((n) => ({ tool: long + n }))))
    const verdict = judge([1, 2, 3].map(() => ({ params: { long }, outcome: succeeded(long) })))!
    assert.strictEqual(verdict.loop.count, 3)
    assert.isAtMost(verdict.loop.calls[0]!.params.length, 100)
  })

  it.each<ToolOutcome.ToolOutcome>([
    { _tag: "UnknownTool", available: ["look"] },
    { _tag: "InvalidArguments", message: "n is missing" },
    { _tag: "Denied", reason: "no" },
    { _tag: "Failed", result: "no" },
    { _tag: "TimedOut", limit: 10 },
    { _tag: "NotExecuted", reason: "limit" }
  ])("may consist of calls that are $_tag", (outcome) => {
    assert.strictEqual(judge([{ outcome }, { outcome }, { outcome }])?.loop.count, 3)
  })

  it.each<ToolOutcome.ToolOutcome>([
    { _tag: "Interrupted" },
    { _tag: "NotExecuted", reason: "truncated" },
    { _tag: "NotExecuted", reason: "stopped" },
    { _tag: "NotExecuted", reason: "superseded" },
    { _tag: "NotExecuted", reason: "aborted" },
    { _tag: "NotExecuted", reason: "failed" }
  ])("is neither made nor broken by calls that are $_tag, $reason", (outcome) => {
    assert.isUndefined(judge([{ outcome }, { outcome }, { outcome }]))
    assert.strictEqual(judge([{}, { outcome, tool: "other" }, {}, {}])?.loop.count, 3)
  })

  it("ignores exempt tools", () => {
    assert.isUndefined(judge(word("AAA"), { exempt: ["A"] }))
    assert.strictEqual(judge(word("AWAWWA"), { exempt: ["W"] })?.loop.count, 3)
  })

  it("needs as many repetitions as the agent says", () => {
    assert.strictEqual(judge(word("AA"), { after: 2 })?.loop.count, 2)
    assert.isUndefined(judge(word("AAA"), { after: 4 }))
    assert.strictEqual(judge(word("A".repeat(20)), { after: 20 })?.loop.count, 20)
  })
})

describe("a loop that the model was told about", () => {
  const loopOf = (trail: DoomLoop.Trail) => DoomLoop.judge(trail, DoomLoop.defaults)!.loop
  const told = (letters: string) => {
    const trail = trailOf(word(letters))
    return DoomLoop.tell(trail, loopOf(trail))
  }
  const then = (trail: DoomLoop.Trail, letters: string) =>
    word(letters).reduce((next, call, i) => settle(next, 100 + i, 0, call), trail)
  const next = (trail: DoomLoop.Trail) => DoomLoop.judge(trail, DoomLoop.defaults)?.next

  it.each<readonly [string, string, "tell" | "end" | undefined]>([
    ["AAA", "", undefined],
    ["AAA", "A", "end"],
    ["AAA", "B", undefined],
    ["AAA", "BA", undefined],
    ["AAA", "BAAA", "end"],
    ["AAA", "BBB", "tell"],
    ["ABABAB", "A", undefined],
    ["ABABAB", "AB", "end"],
    ["ABABAB", "BABABA", "end"],
    ["ABABAB", "AAA", "tell"]
  ])("%s, and then %s: %s", (before, after, what) => {
    assert.strictEqual(next(then(told(before), after)), what)
  })

  it("has one more repetition after it ended a run", () => {
    const ended = then(told("ABABAB"), "AB")
    const again = DoomLoop.tell(ended, loopOf(ended))
    assert.isUndefined(next(again))
    assert.isUndefined(next(settle(again, 200, 0, word("A")[0]!)))
    assert.strictEqual(next(word("AB").reduce((trail, call, i) => settle(trail, 200 + i, 0, call), again)), "end")
  })

  it("is remembered as long as any of the trail is", () => {
    // the last call of the reported loop is the first call kept
    const trail = then(told("AAA"), "BC".repeat(30) + "AAA")
    assert.strictEqual(trail[0]?.told, told("AAA").at(-1)?.told)
    assert.isDefined(trail[0]?.told)
    assert.strictEqual(next(trail), "end")
  })

  it.each([64, 100])("ends the run also where each turn has %i of its calls, more than are looked at", (calls) => {
    for (const letters of ["A", "AB"]) {
      const all = word(letters.repeat(calls))
      const round = (trail: DoomLoop.Trail, turn: number) =>
        all.reduce((next, call, index) => settle(next, turn, index, call), trail)
      const first = round([], 1)
      const second = round(DoomLoop.tell(first, loopOf(first)), 2)
      assert.deepStrictEqual([next(first), next(second)], ["tell", "end"])
      const again = DoomLoop.tell(second, loopOf(second))
      assert.deepStrictEqual([next(again), next(round(again, 3))], [undefined, "end"])
    }
  })

  it("is forgotten with the last of its calls", () => {
    assert.strictEqual(next(then(told("AAA"), "BC".repeat(32) + "AAA")), "tell")
  })

  it("is a different loop if the results change", () => {
    const changed = [1, 2, 3].reduce(
      (trail, turn) => settle(trail, 100 + turn, 0, { ...word("A")[0]!, outcome: succeeded("new") }),
      told("AAA")
    )
    assert.strictEqual(next(changed), "tell")
  })
})

/** The shortest period that `letters` end with n times, found by writing it out n times. */
const oracle = (letters: string, n: number) => {
  for (let period = 1; period * n <= letters.length; period++) {
    const last = letters.slice(-period)
    if (!letters.endsWith(last.repeat(n))) continue
    let count = n
    while (letters.endsWith(last.repeat(count + 1))) count++
    return { period, count }
  }
  return undefined
}

describe("loops are found", () => {
  const words = Arbitrary.schema(Schema.Struct({
    head: Schema.Array(Schema.Literals(["A", "B", "C"])).check(Schema.isMaxLength(8)),
    period: Schema.Array(Schema.Literals(["A", "B", "C"])).check(Schema.isMinLength(1), Schema.isMaxLength(10)),
    times: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 4 })),
    tail: Schema.Array(Schema.Literals(["A", "B", "C"])).check(Schema.isMaxLength(2)),
    after: Schema.Int.check(Schema.isBetween({ minimum: 2, maximum: 4 }))
  }))

  it.prop("exactly where the naive search finds them", [words], ([{ after, head, period, tail, times }]) => {
    const letters = [...head, ...Array.from({ length: times }, () => period).flat(), ...tail].join("")
    const verdict = judge(word(letters), { after })
    const found = verdict === undefined
      ? undefined
      : { period: verdict.loop.calls.length, count: verdict.loop.count }
    assert.deepStrictEqual(found, oracle(letters, after))
  }, { arbitrary: { runs: 2000, seed: "loops" } })
})

describe("a trail", () => {
  const rounds = Schema.Array(
    Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 })))
      .check(Schema.isMaxLength(40))
  ).check(Schema.isMaxLength(6))

  it.prop("does not depend on the order in which a round's calls settle", [rounds, Logs.seed], ([rounds, seed]) => {
    const die = dice(seed)
    let [inOrder, shuffled]: Array<DoomLoop.Trail> = [[], []]
    rounds.forEach((round, turn) => {
      const calls = round.map((n, index) => ({ index, rank: die.int(1000), call: { params: { n } } }))
      for (const { call, index } of calls) inOrder = settle(inOrder!, turn, index, call)
      const another = calls.toSorted((a, b) => a.rank - b.rank)
      for (const { call, index } of another) shuffled = settle(shuffled!, turn, index, call)
      assert.deepStrictEqual(shuffled, inOrder)
    })
  }, { arbitrary: { runs: 300, seed: "rounds" } })

  it.prop("does not depend on the order of keys", [Schema.JsonObject, Schema.JsonObject], ([params, result]) => {
    const turned = (value: Schema.JsonObject) => Object.fromEntries(Object.entries(value).toReversed())
    assert.deepStrictEqual(
      trailOf([{ params: turned(params), outcome: succeeded(turned(result)) }]),
      trailOf([{ params, outcome: succeeded(result) }])
    )
  }, { arbitrary: { runs: 200, seed: "keys" } })

  it("stays short, however long the run is", () => {
    const trail = trailOf(Array.from({ length: 1000 }, (_, n) => ({ params: "x".repeat(n), tool: "y".repeat(n) })))
    assert.isBelow(JSON.stringify(trail).length, 30_000)
  })

  it("accepts arguments and results nested too deeply to be written", () => {
    const deep: Schema.Json = JSON.parse(`${"[".repeat(20_000)}${"]".repeat(20_000)}`)
    assert.lengthOf(trailOf([{ params: deep }, { outcome: succeeded(deep) }]), 2)
  })
})

describe("the state of a run", () => {
  const call = Draft.assistant([Draft.call("search")])
  const turn = (n: number) => [Draft.turnStarted(n), { ...call, turn: n }, Draft.settled(`${n}.0`, "ok")] as const
  const trail = (...drafts: ReadonlyArray<Draft.Placed>) =>
    Draft.log(Draft.started("go"), ...turn(1), ...turn(2), ...drafts).reduce(RunState.evolve, RunState.empty).trail

  it("keeps the trail across a compaction, an end and a resume", () => {
    const drafts = [Draft.turnFinished(2), Draft.compacted(3, []), Draft.limited(), Draft.resumed(2)]
    assert.lengthOf(trail(...drafts), 2)
  })

  it("starts over with what a person says", () => {
    assert.lengthOf(trail({ ...Draft.started("more"), runId: "run-2" }), 0)
    assert.lengthOf(trail(Draft.input("not like that")), 0)
  })
})
