import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as InTurn from "../../../src/layers/sql/InTurn.ts"

/** One that is under way until `finish`, and `log`, which `add` adds to in its turn. */
const busy = Effect.gen(function*() {
  const inTurn = InTurn.make()
  const log: Array<string> = []
  const finish = yield* Deferred.make<void, string>()
  const first = yield* Effect.forkChild(inTurn(() => Deferred.await(finish)), { startImmediately: true })
  const add = (name: string) => inTurn(() => Effect.sync(() => log.push(name)))
  const wait = (name: string) => Effect.forkChild(add(name), { startImmediately: true })
  return { inTurn, log, finish, first, add, wait }
})

it.effect("those that wait go on one by one in their order, also when the first fails", () =>
  Effect.gen(function*() {
    const { finish, first, log, wait } = yield* busy
    const fibers = [yield* wait("a"), yield* wait("b"), yield* wait("c")]
    assert.deepStrictEqual(log, [])
    yield* Deferred.fail(finish, "no")
    assert.isTrue(Exit.isFailure(yield* Fiber.await(first)))
    for (const fiber of fibers) yield* Fiber.join(fiber)
    assert.deepStrictEqual(log, ["a", "b", "c"])
  }))

it.effect("one that is interrupted while it waits is done in its turn, and the next as well", () =>
  Effect.gen(function*() {
    const { finish, log, wait } = yield* busy
    const waiting = yield* wait("a")
    const next = yield* wait("b")
    const interrupted = yield* Effect.forkChild(Fiber.interrupt(waiting), { startImmediately: true })
    yield* Deferred.succeed(finish, undefined)
    yield* Fiber.join(interrupted)
    yield* Fiber.join(next)
    assert.deepStrictEqual(log, ["a", "b"])
  }))

it.effect("one that throws before it begins, at once or behind another, does not hold up the next", () =>
  Effect.gen(function*() {
    const { add, finish, inTurn, log } = yield* busy
    const throwing = inTurn(() => {
      throw new Error("a bug")
    })
    const waiting = yield* Effect.forkChild(throwing, { startImmediately: true })
    yield* Deferred.succeed(finish, undefined)
    assert.isTrue(Exit.hasDies(yield* Fiber.await(waiting)))
    assert.isTrue(Exit.hasDies(yield* Effect.exit(throwing)))
    yield* add("a")
    assert.deepStrictEqual(log, ["a"])
  }))
