/** A feed on its own: what its readers' buffers hold, and what a full one gives up. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as Feed from "../../../src/loop/log/Feed.ts"
import { FeedReader } from "../../../src/loop/log/FeedReader.ts"
import type * as RunEvent from "../../../src/run/RunEvent.ts"
import * as RunEvents from "../../../src/run/RunEvents.ts"
import * as Totals from "../../../src/run/Totals.ts"
import * as Drafts from "../../support/Drafts.ts"
import * as RunLog from "../../support/RunLog.ts"
import * as TestStore from "../../support/TestStore.ts"

const delta = (
  index: number,
  block = "text",
  tag: "TextDelta" | "ReasoningDelta" = "TextDelta"
): RunEvent.RunEvent => ({
  _tag: tag,
  runId: "r",
  turn: 1,
  attempt: 1,
  index,
  block,
  delta: `${index} `
})

const notice = (seq: number): RunEvent.Durable => ({
  _tag: "NoticeAdded",
  seq,
  at: 0,
  runId: "r",
  version: 1,
  kind: "resume",
  text: `${seq}`
})

/** A store that holds notices 1 to `stored`. */
const storing = Effect.fnUntraced(function*(stored: number) {
  const store = yield* TestStore.make()
  if (stored > 0) {
    yield* Effect.scoped(Effect.gen(function*() {
      const session = yield* store.service.open("s", { runId: "r", create: true })
      for (let seq = 1; seq <= stored; seq++) yield* session.append([notice(seq)])
    }))
  }
  return store.service
})

/** A feed over such a store. */
const make = (stored = 0) => Effect.map(storing(stored), (store) => new Feed.Feed(store, "s", true, () => []))

const drain = Effect.fnUntraced(function*(feed: Feed.Feed) {
  const arrays: Array<ReadonlyArray<RunEvent.RunEvent>> = []
  yield* Stream.runForEachArray(feed.events, (events) => Effect.sync(() => arrays.push(events)))
  return arrays
})

it.effect("a reader that comes after the first fact gets that from the store", () =>
  Effect.gen(function*() {
    const feed = yield* make(1)
    feed.publish([notice(1)])
    const reader = yield* Effect.forkChild(Stream.runCollect(feed.eventsBeside()), { startImmediately: true })
    feed.end(Exit.void)
    assert.deepStrictEqual(yield* Fiber.join(reader), [notice(1)])
  }))

it.effect.each([[1, [1, 2, 3, 4]], [2, [2, 3, 4]], [4, [3, 4]], [9, [3, 4]]] as const)(
  "a reader that has the facts before %i gets the others, or only the last one again that was shown: %j",
  ([from, expected]) =>
    Effect.gen(function*() {
      const feed = yield* make(4)
      for (const seq of [1, 2, 3]) feed.publish([notice(seq)])
      const reader = yield* Effect.forkChild(Stream.runCollect(feed.eventsBeside(from)), { startImmediately: true })
      feed.publish([notice(4)])
      feed.end(Exit.void)
      assert.deepStrictEqual(RunLog.durable(yield* Fiber.join(reader)).map(({ seq }) => seq), [...expected])
    })
)

describe("a full buffer", () => {
  it.effect("joins neighbouring deltas of one block", () =>
    Effect.gen(function*() {
      const feed = yield* make()
      for (let i = 0; i < 50_000; i++) feed.publish([delta(i)])
      feed.end(Exit.void)
      const events = (yield* drain(feed)).flat()
      assert.isAtMost(events.length, 1025)
      const text = RunLog.only(events, "TextDelta").map((event) => event.delta).join("")
      assert.strictEqual(text, Array.from({ length: 50_000 }, (_, i) => `${i} `).join(""))
      const first = RunLog.only(events, "TextDelta")[0]!
      assert.isAbove(first.count!, 40_000)
    }))

  it.effect("drops transient events other than deltas", () =>
    Effect.gen(function*() {
      const feed = yield* make()
      for (let i = 0; i < 50_000; i++) {
        feed.publish([{ _tag: "ToolProgress", runId: "r", turn: 1, callId: "1.0", tool: "work", value: i }])
      }
      feed.end(Exit.void)
      const events = (yield* drain(feed)).flat()
      assert.isAtMost(events.length, 1024)
    }))

  it.effect("drops durable events and reads them again from the store, in pages", () =>
    Effect.gen(function*() {
      const feed = yield* make(3000)
      for (let seq = 1; seq <= 3000; seq++) feed.publish([notice(seq)])
      feed.end(Exit.void)
      const arrays = yield* drain(feed)
      assert.deepStrictEqual(
        RunLog.durable(arrays.flat()).map((event) => event.seq),
        Array.from({ length: 3000 }, (_, i) => i + 1)
      )
      assert.isAtMost(Math.max(...arrays.map((events) => events.length)), 1024)
    }))

  // Alternating deltas of two blocks cannot be joined; what a full buffer does then must not be redone at every push.
  it("costs in proportion to what is published, even if nothing can be joined", () => {
    const n = 8000
    let looks = 0
    const watched = (event: RunEvent.RunEvent) =>
      new Proxy(event, {
        get: (target, key) => {
          if (++looks > 100 * n) throw new Error(`${n} deltas were looked at more than ${looks} times`)
          return Reflect.get(target, key)
        }
      })
    const feed = new Feed.Feed({} as never, "s", true, () => [])
    for (let i = 0; i < n; i++) feed.publish([watched(delta(i, i % 2 === 0 ? "a" : "b"))])
    assert.isAbove(looks, n)
  })

  it.effect("keeps the text of one answer, and little of those that are settled, which their messages restate", () =>
    Effect.gen(function*() {
      const feed = yield* make()
      const [turns, text] = [20, "what it said ".repeat(2000)]
      const pieces = text.match(/.{10}/g)!
      const published: Array<RunEvent.RunEvent> = []
      const publish = (event: RunEvent.RunEvent) => {
        published.push(event)
        feed.publish([event])
      }
      for (let turn = 1; turn <= turns; turn++) {
        pieces.forEach((piece, index) => publish({ ...delta(index), turn, delta: piece } as RunEvent.RunEvent))
        if (turn === turns) break
        const settled = Drafts.assistant([{ type: "text", text }])
        publish({ ...settled, turn, seq: turn, at: 0, runId: "r", version: 1 } as RunEvent.Durable)
      }
      feed.end(Exit.void)
      const events = (yield* drain(feed)).flat()
      const kept = RunLog.only(events, "TextDelta").reduce((sum, { delta }) => sum + delta.length, 0)
      assert.isAtMost(kept, 65_536 + 2 * text.length)
      assert.strictEqual(RunLog.only(events, "AssistantMessage").length, turns - 1)
      const read = (events: ReadonlyArray<RunEvent.RunEvent>) =>
        Stream.mkString(RunEvents.text(Stream.fromIterable(events)))
      assert.strictEqual(yield* read(events), yield* read(published))
    }))

  it.effect("leaves no gap inside a text whose deltas it dropped", () =>
    Effect.gen(function*() {
      const feed = yield* make(1500)
      for (let i = 0; i < 10; i++) feed.publish([delta(i)])
      for (let seq = 1; seq <= 1500; seq++) feed.publish([notice(seq)])
      for (let i = 10; i < 20; i++) feed.publish([delta(i)])
      const whole = Array.from({ length: 20 }, (_, i) => `${i} `).join("")
      const settled = Drafts.assistant([{ type: "text", text: whole }])
      feed.publish([{ ...settled, seq: 1501, at: 0, runId: "r", version: 1 }])
      feed.end(Exit.void)
      const pieces = yield* feed.events.pipe(RunEvents.text, Stream.runCollect)
      assert.strictEqual(pieces.join(""), whole)
    }))
})

describe("a reader that has events read from the store", () => {
  it.effect("gets each once, even if more of them are dropped meanwhile", () =>
    Effect.gen(function*() {
      const store = yield* storing(4)
      const reader: FeedReader = new FeedReader(
        {
          ...store,
          read: (sessionId, range) => {
            if (range?.to === 2) reader.lag(3, 4)
            return store.read(sessionId, range)
          }
        },
        "s",
        true
      )
      reader.lag(1, 2)
      const seen = [...(yield* reader.pull), ...(yield* reader.pull)]
      assert.deepStrictEqual(RunLog.durable(seen).map(({ seq }) => seq), [1, 2, 3, 4])
    }))
})

describe("a reader that waits", () => {
  const names = (arrays: ReadonlyArray<ReadonlyArray<RunEvent.RunEvent>>) =>
    arrays.map((events) => events.map((event) => "index" in event ? event.index : event._tag))
  const microtask = Effect.promise(() => Promise.resolve())
  const reading = Effect.fnUntraced(function*() {
    const feed = yield* make()
    const arrays: Array<ReadonlyArray<RunEvent.RunEvent>> = []
    const read = Stream.runForEachArray(feed.events, (events) => Effect.sync(() => arrays.push(events)))
    const fiber = yield* Effect.forkDetach(read, { startImmediately: true })
    return { arrays, feed, fiber }
  })

  it.effect("reads deltas together that come one by one in a turn of the event loop, turn by turn", () =>
    Effect.gen(function*() {
      const { arrays, feed } = yield* reading()
      for (let turn = 0; turn < 2; turn++) {
        for (let i = 0; i < 3; i++) {
          feed.publish([delta(3 * turn + i)], "deltas")
          yield* microtask
        }
        yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      }
      assert.deepStrictEqual(names(arrays), [[0, 1, 2], [3, 4, 5]])
    }))

  it.effect("gets everything else sooner, with what came before it", () =>
    Effect.gen(function*() {
      const { arrays, feed, fiber } = yield* reading()
      feed.publish([delta(0)], "deltas")
      feed.publish([notice(1)])
      yield* microtask
      yield* microtask
      assert.deepStrictEqual(names(arrays), [[0, "NoticeAdded"]])
      feed.publish([delta(1)], "deltas")
      feed.end(Exit.void)
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(names(arrays), [[0, "NoticeAdded"], [1]])
    }))
})

describe("a watcher", () => {
  const end: RunEvent.Durable = {
    _tag: "RunAborted",
    seq: 1025,
    at: 0,
    runId: "r",
    version: 1,
    reason: "requested",
    totals: Totals.zero
  }

  it.effect("finds the end in a buffer that was full when it came, even if the store cannot provide the rest", () =>
    Effect.gen(function*() {
      const store = TestStore.over({
        ...(yield* TestStore.make()).service,
        read: () => Stream.fail(TestStore.unavailable)
      })
      const feed = new Feed.Feed(store.service, "s", false, () => [])
      const watcher = feed.watch()
      for (let seq = 1; seq <= 1024; seq++) feed.publish([notice(seq)])
      feed.publish([end])
      feed.end(Exit.void)
      assert.strictEqual((yield* Effect.exit(watcher.pull))._tag, "Failure")
      assert.isTrue(watcher.skip())
      assert.deepStrictEqual(yield* watcher.pull, [end])
      assert.isFalse(watcher.skip())
    }))

  it.effect("is told once of each dropped transient event, and of no joined delta", () =>
    Effect.gen(function*() {
      const feed = yield* make()
      const watcher = feed.watch()
      for (let i = 0; i < 3000; i++) feed.publish([delta(i)])
      for (let i = 0; i < 2000; i++) {
        feed.publish([{ _tag: "ToolProgress", runId: "r", turn: 1, callId: "1.0", tool: "work", value: i }])
      }
      feed.end(Exit.void)
      const seen = yield* watcher.pull
      const progress = RunLog.only(seen, "ToolProgress").length
      assert.strictEqual(RunLog.only(seen, "TextDelta").reduce((sum, { count = 1 }) => sum + count, 0), 3000)
      assert.strictEqual(watcher.takeMissed(), 2000 - progress)
      assert.strictEqual(watcher.takeMissed(), 0)
    }))
})
