/** Others go first: each time those just woken, and every so often the event loop, however many yield. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Pace from "../../../src/services/fibers/Pace.ts"

/** Lets others go first this many times, each time after what `wake` does. */
const letGo = (times: number, wake: (n: number) => void) =>
  Effect.forEach(Array.from({ length: times }, (_, n) => n), (n) => {
    wake(n)
    return Pace.letOthersGo
  }, { discard: true })

describe("work that lets others go first", () => {
  it.effect("continues after whoever was woken before, each time", () =>
    Effect.gen(function*() {
      const gone: Array<number> = []
      const seen: Array<number> = []
      yield* letGo(40, (n) => {
        seen.push(gone.length)
        queueMicrotask(() => gone.push(n))
      })
      assert.deepStrictEqual(seen, Array.from({ length: 40 }, (_, n) => n))
      assert.strictEqual(gone.length, 40)
    }))

  it.effect.each<readonly [number, number, number]>([[1, 700, 10], [8, 200, 20], [100, 20, 12]])(
    "lets the event loop take its turns: %i at a time, each %i times, at least %i turns",
    ([fibers, times, least]) =>
      Effect.gen(function*() {
        let turns = 0
        const turn = () => {
          turns++
          timer = setImmediate(turn)
        }
        let timer = setImmediate(turn)
        yield* Effect.forEach(Array.from({ length: fibers }), () => letGo(times, () => {}), {
          concurrency: "unbounded",
          discard: true
        })
        clearImmediate(timer)
        assert.isAtLeast(turns, least)
      })
  )
})
