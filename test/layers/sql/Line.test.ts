import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Line from "../../../src/layers/sql/Line.ts"

const immediately = { startImmediately: true } as const

it.effect("effects run one at a time, in the order in which they came", () =>
  Effect.gen(function*() {
    const line = Line.make()
    const gate = yield* Deferred.make<void>()
    const seen: Array<string> = []
    const add = (name: string) =>
      line.within(() => {
        seen.push(`${name} begins`)
        return Effect.andThen(Deferred.await(gate), Effect.sync(() => seen.push(`${name} ends`)))
      })
    const fibers = yield* Effect.forEach(["a", "b", "c"], (name) => Effect.forkChild(add(name), immediately))
    assert.deepStrictEqual(seen, ["a begins"])
    yield* Deferred.succeed(gate, undefined)
    yield* Fiber.joinAll(fibers)
    yield* add("d")
    assert.deepStrictEqual(seen, ["a", "b", "c", "d"].flatMap((name) => [`${name} begins`, `${name} ends`]))
  }))

it.effect("one that came before is in front of one that comes while the line moves on", () =>
  Effect.gen(function*() {
    const line = Line.make()
    const gate = yield* Deferred.make<void>()
    const seen: Array<number> = []
    const add = (n: number) => line.within(() => Effect.sync(() => seen.push(n)))
    const first = yield* Effect.forkChild(line.within(() => Deferred.await(gate)), immediately)
    const second = yield* Effect.forkChild(add(2), immediately)
    const third = yield* Effect.forkChild(Effect.andThen(Fiber.await(first), add(3)), immediately)
    yield* Deferred.succeed(gate, undefined)
    yield* Fiber.joinAll([second, third])
    assert.deepStrictEqual(seen, [2, 3])
  }))

it.effect("one that is interrupted, while it waits or runs, runs to its end", () =>
  Effect.gen(function*() {
    const line = Line.make()
    const gate = yield* Deferred.make<void>()
    let ended = 0
    const add = line.within(() => Effect.andThen(Deferred.await(gate), Effect.sync(() => ended++)))
    const fibers = yield* Effect.forEach([add, add], (effect) => Effect.forkChild(effect, immediately))
    for (const fiber of fibers) yield* Effect.forkChild(Fiber.interrupt(fiber), immediately)
    yield* Deferred.succeed(gate, undefined)
    yield* Effect.forEach(fibers, Fiber.await)
    assert.strictEqual(ended, 2)
  }))

it.effect("one that fails, or throws, lets the next one in", () =>
  Effect.gen(function*() {
    const line = Line.make()
    const bug = new Error("bug")
    assert.deepStrictEqual(yield* Effect.exit(line.within(() => Effect.fail("no"))), Exit.fail("no"))
    const thrown = yield* Effect.exit(line.within(() => {
      throw bug
    }))
    assert.deepStrictEqual(thrown, Exit.die(bug))
    assert.strictEqual(yield* line.within(() => Effect.succeed(1)), 1)
  }))
