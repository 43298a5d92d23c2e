/** Appending costs what the event costs, however long the log: eight times the events, about eight times the work. */
import { assert, describe, it } from "@effect/vitest"
import * as Message from "../../src/run/Message.ts"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import * as RunState from "../../src/run/RunState.ts"
import * as Transcript from "../../src/run/Transcript.ts"
import * as Draft from "../support/Drafts.ts"

const many = <A>(n: number, make: (i: number) => A) => Array.from({ length: n }, (_, i) => make(i))

const shapes: Record<string, (n: number) => ReadonlyArray<RunEvent.Draft>> = {
  "turns with a call": (n) =>
    many(n / 4, (i) => [
      Draft.turnStarted(i + 1),
      Draft.assistant([Message.text("let me see"), Draft.call("search")], { turn: i + 1 }),
      Draft.settled(`${i + 1}.0`, "found"),
      Draft.turnFinished(i + 1)
    ]).flat(),
  "inputs in a row": (n) => many(n, () => Draft.input("more")),
  "inputs during one call": (n) => [Draft.turnStarted(1), ...many(n, () => Draft.input("more")), Draft.turnFinished(1)],
  "calls of one message": (n) => [
    Draft.assistant(many(n, () => Draft.call("search"))),
    ...many(n, (i) => Draft.settled(`1.${i}`, "found"))
  ]
}

/** Processor time in microseconds: a busy machine lengthens it little. */
const time = (work: () => void): number => {
  const before = process.cpuUsage()
  work()
  const { system, user } = process.cpuUsage(before)
  return system + user
}

/** How much longer the long log takes: the first ratio that is fair, or the fairest of many. */
const ratio = (shape: (n: number) => ReadonlyArray<RunEvent.Draft>, small: number, fold: Fold): number => {
  const short = Draft.log(Draft.started("hello"), ...shape(small))
  const long = Draft.log(Draft.started("hello"), ...shape(small * 8))
  fold(short)
  let best = Infinity
  for (let i = 0; i < 20 && best >= generous; i++) {
    best = Math.min(best, time(() => fold(long)) / time(() => fold(short)))
  }
  return best
}

type Fold = (log: ReadonlyArray<RunEvent.Durable>) => void
const state: Fold = (log) => log.reduce(RunState.evolve, RunState.empty)

/** Quadratic work would take 64 times as long. */
const generous = 24

describe("folding a log is linear", () => {
  it.each<readonly [string, number]>([
    ["turns with a call", 2500],
    ["inputs in a row", 1500],
    ["inputs during one call", 1500],
    ["calls of one message", 250]
  ])("into a transcript, in %s", (name, small) => {
    assert.isBelow(ratio(shapes[name]!, small, Transcript.fromLog), generous)
  })

  it.each<readonly [string, number]>([
    ["turns with a call", 2500],
    ["inputs in a row", 2500]
  ])("into a state, in %s", (name, small) => {
    assert.isBelow(ratio(shapes[name]!, small, state), generous)
  })
})
