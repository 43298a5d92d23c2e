/** Writes that come while another one is under way. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Journal from "../../../src/loop/log/Journal.ts"
import * as RunState from "../../../src/run/RunState.ts"
import * as Transcript from "../../../src/run/Transcript.ts"
import * as TestStore from "../../support/TestStore.ts"

/** A journal whose first append is held, with `first` under way and "2" recorded behind it. */
const held = Effect.fnUntraced(function*(onAppend: (store: TestStore.OnAppend) => TestStore.OnAppend = (_) => _) {
  const hold = TestStore.holding((n) => n === 1)
  const store = yield* TestStore.make(onAppend(hold.onAppend))
  const session = yield* store.service.open("s", { runId: "r", create: true })
  const shown: Array<string> = []
  const journal = Journal.make({
    session,
    runId: "r",
    state: RunState.empty,
    transcript: Transcript.empty,
    feed: { publish: (events) => void shown.push(...events.map((event) => "text" in event ? event.text : event._tag)) },
    clock: { currentTimeMillisUnsafe: () => 0 } as never
  })
  const note = (text: string) => journal.record({ _tag: "NoticeAdded", kind: "resume", text })
  note("1")
  const first = yield* Effect.forkChild(journal.commit, { startImmediately: true })
  yield* hold.reached
  note("2")
  return { first, hold, journal, note, shown, store }
})

const texts = (appends: ReadonlyArray<TestStore.Batch>) =>
  appends.map((events) => events.map((event) => event._tag === "NoticeAdded" ? event.text : event._tag))

describe("while a write is under way", () => {
  it.effect("others wait, the first takes all that was recorded along, and none waits for ever", () =>
    Effect.gen(function*() {
      const { hold, journal, shown, store } = yield* held()
      const others = yield* Effect.forEach(
        [1, 2, 3, 4],
        () => Effect.forkChild(journal.commit, { startImmediately: true })
      )
      assert.deepStrictEqual(shown, [])
      yield* hold.release
      yield* Fiber.joinAll(others)
      assert.deepStrictEqual(texts(store.appends), [["1"], ["2"]])
      assert.deepStrictEqual(shown, ["1", "2"])
    }))

  it.effect("the last one waits too, and those behind it write nothing more", () =>
    Effect.gen(function*() {
      const { hold, journal, note, shown, store } = yield* held()
      const order: Array<string> = []
      const release = Effect.sync(() => void order.push(`released behind ${store.appends.length}`))
      const sealing = yield* Effect.forkChild(journal.seal(release), { startImmediately: true })
      const late = yield* Effect.forkChild(journal.commit, { startImmediately: true })
      yield* hold.release
      yield* Fiber.joinAll([sealing, late])
      note("3")
      yield* journal.commit
      assert.deepStrictEqual(texts(store.appends), [["1"], ["2"]])
      assert.deepStrictEqual(order, ["released behind 2"])
      assert.deepStrictEqual(shown, ["1", "2"])
    }))

  it.effect("what the store refuses is in the next write, and each of those that wait hears of its own", () =>
    Effect.gen(function*() {
      const refused = Effect.fail(TestStore.unavailable)
      const { first, hold, journal, shown, store } = yield* held((hold) => (append) =>
        append.n === 1 ? Effect.andThen(hold({ ...append, store: Effect.void }), refused) : append.store
      )
      const second = yield* Effect.forkChild(journal.commit, { startImmediately: true })
      const third = yield* Effect.forkChild(journal.commit, { startImmediately: true })
      yield* hold.release
      assert.isTrue(Exit.isFailure(yield* Fiber.await(first)))
      yield* Fiber.joinAll([second, third])
      assert.deepStrictEqual(texts(store.appends), [["1", "2"]])
      assert.deepStrictEqual(shown, ["1", "2"])
    }))
})
