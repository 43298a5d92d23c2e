/** What a drive records reaches the store one write after another, and nobody who waits for a write is forgotten. */
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Journal from "../../../src/loop/log/Journal.ts"
import type * as RunEvent from "../../../src/run/RunEvent.ts"
import * as RunState from "../../../src/run/RunState.ts"
import * as Transcript from "../../../src/run/Transcript.ts"
import type * as SessionStore from "../../../src/services/SessionStore.ts"
import * as Hang from "../../support/Hang.ts"
import * as TestStore from "../../support/TestStore.ts"
import * as Yielding from "../../support/Yielding.ts"

const note = (text: string) => ({ _tag: "NoticeAdded", kind: "resume", text }) as const

/** A journal over a store that answers a write when it is released. */
const make = Effect.gen(function*() {
  const gates: Array<Deferred.Deferred<void>> = []
  const writes: Array<ReadonlyArray<number>> = []
  const shown: Array<string> = []
  const broken = { throws: false, refuses: false, holdsNothing: false }
  let head = 0
  const session: SessionStore.Session = {
    sessionId: "s",
    head: () => head,
    append: (events) => {
      if (broken.throws) throw new Error("no effect at all")
      return Effect.suspend(() => {
        const gate = Deferred.makeUnsafe<void>()
        gates.push(gate)
        writes.push(events.map(({ seq }) => seq))
        const answer = Effect.suspend(() => {
          if (broken.refuses) return Effect.fail(TestStore.unavailable)
          if (broken.holdsNothing) return Effect.fail(TestStore.tooLarge)
          head = events[events.length - 1]!.seq
          return Effect.void
        })
        return Effect.andThen(Deferred.await(gate), answer)
      })
    }
  }
  const journal = Journal.make({
    session,
    runId: "r",
    state: RunState.empty,
    transcript: Transcript.empty,
    feed: { publish: (events) => void shown.push(...events.map(nameOf)) },
    clock: yield* Clock.Clock
  })
  /** Releases the oldest write, and whoever waited for it. */
  const letGo = Effect.suspend(() => {
    const gate = gates.shift()
    return gate === undefined ? Effect.void : Deferred.succeed(gate, undefined)
  }).pipe(Effect.andThen(Effect.yieldNow), Effect.andThen(Effect.yieldNow))
  return { broken, journal, letGo, shown, writes }
})

const nameOf = (event: RunEvent.RunEvent) => "text" in event ? event.text : event._tag

const begin = <A, E>(self: Effect.Effect<A, E>) => Effect.forkDetach(self, { startImmediately: true })

describe("the last write", () => {
  /** Requested after a write in progress, and a commit that waits for that write. */
  const asked = Effect.gen(function*() {
    const made = yield* make
    const { journal, shown } = made
    journal.record(note("a"))
    const first = yield* begin(journal.commit)
    journal.record(note("b"))
    const second = yield* begin(journal.commit)
    journal.record(note("end"))
    const sealing = yield* begin(journal.seal(Effect.sync(() => void shown.push("given back"))))
    return { ...made, exits: Effect.forEach([first, second, sealing], Fiber.await) }
  })

  it.effect("takes along what an earlier commit waits for, and gives the session back before any of it is shown", () =>
    Effect.gen(function*() {
      const { exits, journal, letGo, shown, writes } = yield* asked
      yield* letGo
      yield* letGo
      assert.deepStrictEqual((yield* exits).map(({ _tag }) => _tag), ["Success", "Success", "Success"])
      assert.deepStrictEqual(shown, ["a", "given back", "b", "end"])
      assert.deepStrictEqual(writes, [[1], [2, 3]])
      yield* journal.commit
    }))

  it.effect("keeps nobody waiting when its store throws", () =>
    Effect.gen(function*() {
      const { broken, journal } = yield* make
      journal.record(note("end"))
      broken.throws = true
      assert.strictEqual((yield* Effect.exit(journal.seal(Effect.void)))._tag, "Failure")
      assert.isTrue(yield* Hang.ends(journal.commit))
    }))

  it.effect("keeps nobody waiting when what is left is also too large", () =>
    Effect.gen(function*() {
      const { broken, journal, letGo } = yield* make
      journal.record(note("end"))
      const first = yield* begin(journal.seal(Effect.void))
      broken.holdsNothing = true
      yield* letGo
      assert.strictEqual((yield* Fiber.await(first))._tag, "Failure")
      const waiting = yield* begin(journal.commit)
      journal.record(note("the end of that"))
      const second = yield* begin(journal.seal(Effect.void))
      yield* letGo
      assert.strictEqual((yield* Fiber.await(second))._tag, "Failure")
      assert.isTrue(yield* Hang.ends(Fiber.await(waiting)))
    }))

  it.effect("fails for everybody who waits for it when the store does", () =>
    Effect.gen(function*() {
      const { broken, exits, letGo, shown } = yield* asked
      yield* letGo
      broken.refuses = true
      yield* letGo
      assert.deepStrictEqual((yield* exits).map(({ _tag }) => _tag), ["Success", "Failure", "Failure"])
      assert.deepStrictEqual(shown, ["a"])
    }))
})

describe("commits that come during a write", () => {
  it.effect("end even if it is over before they wait for it", () =>
    Effect.gen(function*() {
      let operations = 1
      for (let n = 1; n <= operations; n++) {
        const { journal, letGo } = yield* make
        journal.record(note("a"))
        const first = yield* begin(journal.commit)
        const yielding = Yielding.at(n, () => {
          Effect.runFork(letGo)
        })
        const second = yield* begin(Yielding.run(yielding, journal.commit))
        yield* letGo
        yield* Fiber.join(first)
        yield* Fiber.join(second)
        operations = yielding.count()
      }
    }))

  it.effect("all end, whichever of them writes what they recorded", () =>
    Effect.gen(function*() {
      const { journal, letGo, shown, writes } = yield* make
      const fibers: Array<Fiber.Fiber<void, SessionStore.StoreError>> = []
      for (const text of ["a", "b", "c", "d", "e"]) {
        journal.record(note(text))
        fibers.push(yield* begin(journal.commit))
      }
      yield* letGo
      yield* letGo
      assert.deepStrictEqual(fibers.map((fiber) => fiber.pollUnsafe() !== undefined), [true, true, true, true, true])
      assert.deepStrictEqual(writes, [[1], [2, 3, 4, 5]])
      assert.deepStrictEqual(shown, ["a", "b", "c", "d", "e"])
    }))

  it.effect("all end when the last write comes before them", () =>
    Effect.gen(function*() {
      const { journal, letGo, shown } = yield* make
      journal.record(note("a"))
      yield* begin(journal.commit)
      journal.record(note("end"))
      const sealed = yield* begin(journal.seal(Effect.void))
      const late = [yield* begin(journal.commit), yield* begin(journal.commit), yield* begin(journal.commit)]
      yield* letGo
      yield* letGo
      assert.deepStrictEqual([sealed, ...late].map((fiber) => fiber.pollUnsafe()), Array(4).fill(Exit.void))
      assert.deepStrictEqual(shown, ["a", "end"])
    }))
})

it.effect("what the store refuses is written again by the next waiter", () =>
  Effect.gen(function*() {
    const { broken, journal, letGo, shown, writes } = yield* make
    journal.record(note("a"))
    const refused = yield* begin(journal.commit)
    const waiting = [yield* begin(journal.commit), yield* begin(journal.commit)]
    broken.refuses = true
    yield* letGo
    broken.refuses = false
    assert.deepStrictEqual(refused.pollUnsafe(), Exit.fail(TestStore.unavailable))
    assert.deepStrictEqual(shown, [])
    yield* letGo
    assert.deepStrictEqual(waiting.map((fiber) => fiber.pollUnsafe()), Array(2).fill(Exit.void))
    assert.deepStrictEqual(writes, [[1], [1]])
    assert.deepStrictEqual(shown, ["a"])
  }))

it.effect("after the last commit nothing is written", () =>
  Effect.gen(function*() {
    const { journal, letGo, shown, writes } = yield* make
    journal.record(note("end"))
    yield* begin(journal.seal(Effect.void))
    journal.record(note("late"))
    const late = yield* begin(journal.commit)
    yield* letGo
    yield* letGo
    assert.deepStrictEqual(late.pollUnsafe(), Exit.void)
    assert.deepStrictEqual([writes, shown], [[[1]], ["end"]])
  }))

it.effect("what the store refuses precedes what was recorded meanwhile, in the next write and when shown", () =>
  Effect.gen(function*() {
    const { broken, journal, letGo, shown, writes } = yield* make
    journal.record(note("a"))
    yield* begin(journal.commit)
    journal.record(note("b"))
    broken.refuses = true
    yield* letGo
    broken.refuses = false
    yield* begin(journal.commit)
    yield* letGo
    assert.deepStrictEqual(writes, [[1], [1, 2]])
    assert.deepStrictEqual(shown, ["a", "b"])
  }))

describe("a transient event", () => {
  const delta: RunEvent.Delta = { _tag: "TextDelta", runId: "r", turn: 1, attempt: 1, index: 0, block: "0", delta: "d" }

  it.effect("that comes during a write is shown after it, and waits for no other", () =>
    Effect.gen(function*() {
      const { journal, letGo, shown } = yield* make
      journal.record(note("a"))
      yield* begin(journal.commit)
      journal.move("driveStarted")
      journal.emitDeltas([delta])
      journal.record(note("b"))
      journal.move("messagesReady")
      assert.deepStrictEqual(shown, [])
      yield* letGo
      assert.deepStrictEqual(shown, ["a", "StatusChanged", "TextDelta"])
      yield* begin(journal.commit)
      yield* letGo
      assert.deepStrictEqual(shown, ["a", "StatusChanged", "TextDelta", "b", "StatusChanged"])
    }))

  it.effect("is shown after what was recorded before it, or at once if nothing was", () =>
    Effect.gen(function*() {
      const { journal, letGo, shown } = yield* make
      journal.move("driveStarted")
      journal.emitDeltas([delta])
      assert.deepStrictEqual(shown, ["StatusChanged", "TextDelta"])
      journal.record(note("a"))
      journal.emitDeltas([delta])
      journal.move("messagesReady")
      assert.deepStrictEqual(shown, ["StatusChanged", "TextDelta"])
      yield* begin(journal.commit)
      yield* letGo
      assert.deepStrictEqual(shown, ["StatusChanged", "TextDelta", "a", "TextDelta", "StatusChanged"])
    }))
})

describe("a store that throws", () => {
  it.effect("holds up no later write, and loses nothing", () =>
    Effect.gen(function*() {
      const { broken, journal, letGo, writes } = yield* make
      journal.record(note("a"))
      broken.throws = true
      assert.isTrue(Exit.hasDies(yield* Effect.exit(journal.commit)))
      broken.throws = false
      const sealed = yield* begin(journal.seal(Effect.void))
      yield* letGo
      assert.deepStrictEqual(sealed.pollUnsafe(), Exit.void)
      assert.deepStrictEqual(writes, [[1]])
    }))
})
