/** What `append` promises in every session store; a part of `SessionStoreSuite`. */
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as SessionStore from "../../services/SessionStore.ts"
import {
  answer,
  completed,
  notice,
  notices,
  open,
  readAll,
  reasonOf,
  refused,
  seqs,
  started,
  write
} from "./Fixtures.ts"
import { assert, describe, type Test } from "./TestRunner.ts"

export const appends = (name: string, test: Test): void => {
  describe(`${name}: append`, () => {
    test(
      "appended events are read back unchanged",
      Effect.gen(function*() {
        const events = [
          started({ seq: 1 }),
          answer({ seq: 2 }),
          notice({ seq: 3, runId: "run-2", at: 7 }),
          completed({ seq: 4 })
        ] as const
        yield* write("s", events)
        assert.deepStrictEqual(yield* readAll("s"), [...events])
      })
    )

    test(
      "a thousand events stay in order without gaps, in appends of any size",
      Effect.gen(function*() {
        const session = yield* open("s")
        for (let from = 1, size = 1; from <= 1000; from += size, size = size % 130 + 7) {
          yield* session.append(notices(from, Math.min(1000, from + size - 1)))
        }
        assert.strictEqual(session.head(), 1000)
        assert.deepStrictEqual(seqs(yield* readAll("s")), Arr.range(1, 1000))
      })
    )

    test(
      "one append takes a thousand events",
      Effect.gen(function*() {
        yield* write("s", notices(1, 1000))
        assert.deepStrictEqual(yield* readAll("s"), notices(1, 1000))
      })
    )

    test(
      "an append that fails writes none of its events",
      Effect.gen(function*() {
        const session = yield* open("s")
        yield* session.append([started({ seq: 1 })])
        yield* refused(
          session.append([notice({ seq: 2 }), notice({ seq: 3 }, "x".repeat(SessionStore.maxEventBytes))])
        )
        assert.strictEqual(session.head(), 1)
        assert.deepStrictEqual(seqs(yield* readAll("s")), [1])
        yield* session.append([notice({ seq: 2 })])
        assert.deepStrictEqual(seqs(yield* readAll("s")), [1, 2])
      })
    )

    for (
      const [claim, events] of [
        ["leaves a gap", [notice({ seq: 3 })]],
        ["repeats a seq", [notice({ seq: 1 })]],
        ["contains a gap", [notice({ seq: 2 }), notice({ seq: 4 })]],
        ["has an event of no run", [notice({ seq: 2 }), notice({ seq: 3, runId: "" })]]
      ] as const
    ) {
      test(
        `an append that ${claim} is a defect and writes nothing`,
        Effect.gen(function*() {
          const session = yield* open("s")
          yield* session.append([started({ seq: 1 })])
          const exit = yield* Effect.exit(session.append(events))
          assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
          assert.deepStrictEqual(seqs(yield* readAll("s")), [1])
        })
      )
    }

    test(
      "concurrent appends are stored one after the other",
      Effect.gen(function*() {
        const session = yield* open("s")
        yield* Effect.forEach(Arr.range(0, 49), (n) => session.append(notices(n * 3 + 1, n * 3 + 3)), {
          concurrency: "unbounded"
        })
        assert.deepStrictEqual(seqs(yield* readAll("s")), Arr.range(1, 150))
      })
    )

    test(
      "a reader sees all events of an append, or none",
      Effect.gen(function*() {
        const session = yield* open("s")
        yield* session.append(notices(1, 40))
        const batches = Arr.range(1, 25).map((n) => notices(n * 40 + 1, n * 40 + 40))
        const writing = yield* Effect.forkChild(
          Effect.forEach(batches, (batch) => Effect.andThen(session.append(batch), Effect.yieldNow))
        )
        while (writing.pollUnsafe() === undefined) {
          assert.strictEqual((yield* readAll("s")).length % 40, 0)
          yield* Effect.yieldNow
        }
        yield* Fiber.join(writing)
      })
    )

    test(
      "several sessions are written concurrently",
      Effect.gen(function*() {
        const ids = Arr.range(1, 20).map((n) => `s${n}`)
        yield* Effect.forEach(ids, (id) => write(id, notices(1, 5, id)), { concurrency: "unbounded" })
        for (const id of ids) assert.deepStrictEqual(yield* readAll(id), notices(1, 5, id))
      })
    )

    test(
      "an interrupted append is stored in full",
      Effect.gen(function*() {
        const session = yield* open("s")
        const fiber = yield* Effect.forkChild(session.append(notices(1, 50)), { startImmediately: true })
        yield* Fiber.interrupt(fiber)
        assert.deepStrictEqual(seqs(yield* readAll("s")), Arr.range(1, 50))
        assert.strictEqual(session.head(), 50)
      })
    )

    test(
      "an event of the maximum size is stored; one byte more is EventTooLarge",
      Effect.gen(function*() {
        const room = SessionStore.maxEventBytes - JSON.stringify(notice({ seq: 1 }, "")).length
        const session = yield* open("s")
        const reason = yield* reasonOf(session.append([notice({ seq: 1 }, "x".repeat(room + 1))]))
        assert.deepInclude(reason, { _tag: "EventTooLarge", limit: 16 * 1024 * 1024, bytes: 16 * 1024 * 1024 + 1 })
        yield* session.append([notice({ seq: 1 }, "x".repeat(room))])
        const [event] = yield* readAll("s")
        assert.isTrue(event?._tag === "NoticeAdded" && event.text.length === room)
      })
    )

    test(
      "the size of an event is counted in bytes, not in characters",
      Effect.gen(function*() {
        const reason = yield* reasonOf(write("s", [notice({ seq: 1 }, "é".repeat(SessionStore.maxEventBytes / 2))]))
        assert.strictEqual(reason._tag, "EventTooLarge")
      })
    )

    test(
      "events of a megabyte each are stored and read",
      Effect.gen(function*() {
        yield* write("s", notices(1, 6, "m".repeat(1_000_000)))
        const events = yield* readAll("s")
        assert.deepStrictEqual(seqs(events), Arr.range(1, 6))
        assert.isTrue(events.every((event) => event._tag === "NoticeAdded" && event.text.length === 1_000_000))
      })
    )
  })
}
