/** The time of a drive under a clock that somebody sets, back and forward. */
import { assert, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as DriveTime from "../../../src/loop/log/DriveTime.ts"

const seconds = (n: number) => n * 1000
const hours = (n: number) => n * 3_600_000
const begin = Date.UTC(2026, 0, 1)

/** The time after each step, from the first look: how much passes, and by how much the clock is set meanwhile. */
const told = (steps: ReadonlyArray<readonly [passed: number, setBy: number]>) =>
  Effect.map(Clock.Clock, (real) => {
    let [passed, setBy] = [0, 0]
    const clock: Clock.Clock = Object.assign(Object.create(real), {
      currentTimeMillisUnsafe: () => Math.floor(begin + passed + setBy),
      monotonicTimeNanosUnsafe: () => BigInt(Math.round(passed * 1e6)) + 123_456_789_012_345n
    })
    const now = DriveTime.make(clock)
    assert.strictEqual(now(), begin)
    return steps.map((step) => {
      passed += step[0]
      setBy += step[1]
      return now() - begin
    })
  })

it.effect.each<readonly [string, Parameters<typeof told>[0], ReadonlyArray<number>]>([
  ["is the clock's", [[0.4, 0], [0.4, 0], [0.4, 0], [seconds(2), 0]], [0, 0, 1, 2001]],
  ["follows it forward", [[seconds(1), hours(1)], [1, 0]], [hours(1) + seconds(1), hours(1) + 1001]],
  ["keeps advancing when it is set back", [[10, -hours(1)], [10, 0], [seconds(5), 0]], [10, 20, 5020]],
  ["keeps advancing when it is set back twice", [[10, -hours(1)], [10, -hours(1)], [10, 0]], [10, 20, 30]],
  ["advances from where it was set forward and back", [[0, hours(1)], [10, -hours(1)], [10, 0]], [
    hours(1),
    hours(1) + 10,
    hours(1) + 20
  ]],
  ["never decreases when it is set forward, by little each time, and back", [[0, 999], [0, 999], [0, -1998]], [
    999,
    1998,
    1998
  ]],
  ["is the clock's again when it is set back and forward", [[10, -hours(1)], [10, hours(1)], [10, 0]], [10, 20, 30]],
  ["is what passed when it is set back during a long wait, by less than that", [[hours(2), -hours(1)], [10, 0]], [
    hours(2),
    hours(2) + 10
  ]],
  ["is what passed when a clock that was set back catches up", [[10, -hours(1)], [hours(3), 0]], [
    10,
    hours(3) + 10
  ]]
])("%s", ([, steps, expected]) =>
  Effect.map(told(steps), (times) => {
    assert.deepStrictEqual(times, expected)
  }))

it.effect("is in whole milliseconds where the clock tells parts of them", () =>
  Effect.map(Clock.Clock, (real) => {
    let passed = 0.37
    const clock: Clock.Clock = Object.assign(Object.create(real), {
      currentTimeMillisUnsafe: () => begin + passed,
      monotonicTimeNanosUnsafe: () => BigInt(Math.round(passed * 1e6))
    })
    const now = DriveTime.make(clock)
    const times = [0, 0.5, 0.2, seconds(2), seconds(0.5)].map((more) => {
      passed += more
      return now() - begin
    })
    assert.deepStrictEqual(times, [0, 0, 1, 2001, 2501])
  }))
