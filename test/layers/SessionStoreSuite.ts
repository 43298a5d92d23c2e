/**
 * What every session store does, as tests: `suite(name, layer)`. Each test builds the layer anew and needs it empty.
 *
 * Does not own what only some stores have: files, processes, connections.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as RunEvent from "../../src/run/RunEvent.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"
import {
  answer,
  base,
  completed,
  type Durable,
  idle,
  notice,
  notices,
  open,
  readAll,
  reasonOf,
  seqs,
  started,
  tagOf,
  write
} from "./SessionStoreFixtures.ts"
import { forks } from "./SessionStoreForks.ts"
import { landmarks } from "./SessionStoreLandmarks.ts"

export const suite = <E>(name: string, layer: Layer.Layer<SessionStore.SessionStore, E>): void => {
  const test = <A, E2>(claim: string, body: Effect.Effect<A, E2, SessionStore.SessionStore | Scope.Scope>): void => {
    it.effect(claim, () => Effect.provide(Effect.scoped(body), layer))
  }

  describe(`${name}: creation`, () => {
    test(
      "a session comes into being with its first event",
      Effect.gen(function*() {
        const session = yield* open("s")
        assert.strictEqual(session.head(), 0)
        yield* session.append([started({ seq: 1 })])
        assert.strictEqual(session.head(), 1)
        assert.deepStrictEqual(yield* readAll("s"), [started({ seq: 1 })])
      })
    )

    test(
      "opening an unknown session without creating it is SessionNotFound",
      Effect.gen(function*() {
        const reason = yield* reasonOf(open("s", { create: false }))
        assert.strictEqual(reason._tag, "SessionNotFound")
        assert.include(reason.message, `"s"`)
      })
    )

    test(
      "a session that is open and not yet written to is not there",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        yield* open("s")
        assert.isUndefined(yield* store.info("s"))
        assert.deepStrictEqual(yield* store.list(), [])
        assert.strictEqual(yield* tagOf(readAll("s")), "SessionNotFound")
        assert.strictEqual(yield* tagOf(store.remove("s")), "SessionNotFound")
        assert.strictEqual(yield* tagOf(open("s", { create: false })), "SessionNotFound")
      })
    )

    test(
      "nothing is left of a session that was closed without a write",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        yield* Effect.scoped(open("s"))
        assert.isUndefined(yield* store.info("s"))
        assert.strictEqual(yield* tagOf(Effect.scoped(open("s", { create: false }))), "SessionNotFound")
        yield* write("s", [started({ seq: 1 })])
        assert.deepStrictEqual(seqs(yield* readAll("s")), [1])
      })
    )

    test(
      "a session that was closed without a write is created by who writes to it",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        yield* Effect.scoped(open("s"))
        yield* TestClock.adjust("5 seconds")
        yield* write("s", [started({ seq: 1 })])
        assert.strictEqual((yield* store.info("s"))?.createdAt, 5000)
      })
    )

    test(
      "a session that is open and not yet written to is busy",
      Effect.gen(function*() {
        yield* open("s", { runId: "first" })
        const reason = yield* reasonOf(open("s"))
        assert.isTrue(reason._tag === "SessionBusy" && reason.runId === "first")
      })
    )

    for (const id of ["a'b\"c`; DROP TABLE x --", "日本語 👩‍👩‍👧", "%_*", "x".repeat(1000), " "]) {
      test(
        `a session may be called ${JSON.stringify(id.slice(0, 24))}`,
        Effect.gen(function*() {
          const store = yield* SessionStore.SessionStore
          yield* write(id, [started({ seq: 1 })])
          assert.deepStrictEqual(seqs(yield* readAll(id)), [1])
          assert.strictEqual((yield* store.info(id))?.sessionId, id)
        })
      )
    }

    for (const id of ["a\0b", "a\ud800b"]) {
      test(
        `an id that a database cannot keep is refused: ${JSON.stringify(id)}`,
        Effect.gen(function*() {
          assert.strictEqual(yield* tagOf(open(id)), "StoreRefused")
          assert.strictEqual(yield* tagOf(open("s", { runId: id })), "StoreRefused")
        })
      )
    }
  })

  describe(`${name}: append`, () => {
    test(
      "what was appended is read back as it was",
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
      "a thousand events keep their order without a gap, in appends of any size",
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
      "a thousand events are appended at once",
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
        yield* Effect.flip(
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
        ["is there already", [notice({ seq: 1 })]],
        ["has a gap inside", [notice({ seq: 2 }), notice({ seq: 4 })]]
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
      "appends that are made at once are stored one after the other",
      Effect.gen(function*() {
        const session = yield* open("s")
        yield* Effect.forEach(Arr.range(0, 49), (n) => session.append(notices(n * 3 + 1, n * 3 + 3)), {
          concurrency: "unbounded"
        })
        assert.deepStrictEqual(seqs(yield* readAll("s")), Arr.range(1, 150))
      })
    )

    test(
      "sessions are written side by side",
      Effect.gen(function*() {
        const ids = Arr.range(1, 20).map((n) => `s${n}`)
        yield* Effect.forEach(ids, (id) => write(id, notices(1, 5, id)), { concurrency: "unbounded" })
        for (const id of ids) assert.deepStrictEqual(yield* readAll(id), notices(1, 5, id))
      })
    )

    test(
      "an append that is interrupted is stored in full",
      Effect.gen(function*() {
        const session = yield* open("s")
        const fiber = yield* Effect.forkChild(session.append(notices(1, 50)), { startImmediately: true })
        yield* Fiber.interrupt(fiber)
        assert.deepStrictEqual(seqs(yield* readAll("s")), Arr.range(1, 50))
        assert.strictEqual(session.head(), 50)
      })
    )

    test(
      "an event of the largest size is stored, one byte more is EventTooLarge",
      Effect.gen(function*() {
        const room = SessionStore.maxEventBytes - JSON.stringify(notice({ seq: 1 }, "")).length
        const session = yield* open("s")
        const reason = yield* reasonOf(session.append([notice({ seq: 1 }, "x".repeat(room + 1))]))
        assert.isTrue(reason._tag === "EventTooLarge" && reason.bytes === reason.limit + 1)
        yield* session.append([notice({ seq: 1 }, "x".repeat(room))])
        const [event] = yield* readAll("s")
        assert.isTrue(event?._tag === "NoticeAdded" && event.text.length === room)
      })
    )

    test(
      "the size of an event counts in bytes, not in characters",
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

  describe(`${name}: one writer`, () => {
    test(
      "a second writer is refused with the run of the first",
      Effect.gen(function*() {
        const session = yield* open("s", { runId: "first" })
        yield* session.append([started({ seq: 1 })])
        const reason = yield* reasonOf(open("s", { runId: "second" }))
        assert.isTrue(reason._tag === "SessionBusy" && reason.runId === "first" && reason.sessionId === "s")
        assert.include(reason.message, "first")
      })
    )

    test(
      "of many openers at once one gets the session",
      Effect.gen(function*() {
        const tags = yield* Effect.forEach(
          Arr.range(1, 20),
          (n) =>
            Effect.match(open("s", { runId: `run-${n}` }), {
              onFailure: (_) => _.reason._tag,
              onSuccess: () => "open"
            }),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(tags.filter((tag) => tag === "open"), ["open"])
        assert.strictEqual(tags.filter((tag) => tag === "SessionBusy").length, 19)
      })
    )

    test(
      "a session whose writer left opens again where it ended",
      Effect.gen(function*() {
        yield* write("s", notices(1, 3))
        const session = yield* open("s", { create: false })
        assert.strictEqual(session.head(), 3)
        yield* session.append([notice({ seq: 4 })])
        assert.deepStrictEqual(seqs(yield* readAll("s")), [1, 2, 3, 4])
      })
    )

    test(
      "a writer that was taken over is stale and writes nothing",
      Effect.gen(function*() {
        const first = yield* open("s")
        yield* first.append([started({ seq: 1 })])
        const second = yield* open("s", { runId: "second", takeOver: true })
        assert.strictEqual(yield* tagOf(first.append([notice({ seq: 2 }, "stale")])), "StaleWriter")
        assert.deepStrictEqual(seqs(yield* readAll("s")), [1])
        yield* second.append([notice({ seq: 2 }, "fresh")])
        assert.strictEqual(yield* tagOf(first.append([notice({ seq: 3 }, "stale")])), "StaleWriter")
        assert.deepStrictEqual(yield* readAll("s"), [started({ seq: 1 }), notice({ seq: 2 }, "fresh")])
      })
    )

    test(
      "a writer that was taken over before its first write is stale",
      Effect.gen(function*() {
        const first = yield* open("s")
        yield* Effect.scoped(open("s", { takeOver: true }))
        assert.strictEqual(yield* tagOf(first.append([started({ seq: 1 })])), "StaleWriter")
        const second = yield* open("s", { takeOver: true })
        assert.strictEqual(yield* tagOf(first.append([started({ seq: 1 })])), "StaleWriter")
        yield* second.append([started({ seq: 1 }, "fresh")])
        assert.deepStrictEqual(yield* readAll("s"), [started({ seq: 1 }, "fresh")])
      })
    )

    test(
      "a stale writer that leaves does not release the session of the other",
      Effect.gen(function*() {
        const scope = yield* Scope.make()
        yield* Scope.provide(open("s"), scope)
        const second = yield* open("s", { runId: "second", takeOver: true })
        yield* Scope.close(scope, Exit.void)
        const reason = yield* reasonOf(open("s"))
        assert.isTrue(reason._tag === "SessionBusy" && reason.runId === "second")
        yield* second.append([started({ seq: 1 })])
      })
    )

    test(
      "a writer whose scope has closed is stale",
      Effect.gen(function*() {
        const session = yield* Effect.scoped(Effect.tap(open("s"), (_) => _.append([started({ seq: 1 })])))
        assert.strictEqual(yield* tagOf(session.append([notice({ seq: 2 })])), "StaleWriter")
        assert.deepStrictEqual(seqs(yield* readAll("s")), [1])
      })
    )

    test(
      "a stale writer stays stale when its session is removed and made again",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        const first = yield* open("s")
        yield* first.append([started({ seq: 1 })])
        yield* Effect.scoped(open("s", { takeOver: true }))
        yield* store.remove("s")
        const second = yield* open("s")
        yield* second.append([started({ seq: 1 })])
        assert.strictEqual(yield* tagOf(first.append([notice({ seq: 2 })])), "StaleWriter")
        assert.deepStrictEqual(seqs(yield* readAll("s")), [1])
      })
    )
  })

  describe(`${name}: read`, () => {
    for (
      const [range, expected] of [
        [{ from: 8 }, [8, 9, 10]],
        [{ to: 2 }, [1, 2]],
        [{ from: 4, to: 6 }, [4, 5, 6]],
        [{ from: 10, to: 99 }, [10]],
        [{ from: 11 }, []],
        [{ from: 6, to: 5 }, []],
        [{ to: 0 }, []],
        [{ from: -3, to: 2 }, [1, 2]]
      ] as const
    ) {
      test(
        `reads ${JSON.stringify(range)}, both ends included`,
        Effect.gen(function*() {
          yield* write("s", notices(1, 10))
          assert.deepStrictEqual(seqs(yield* readAll("s", range)), [...expected])
        })
      )
    }

    test(
      "an unknown session is SessionNotFound",
      Effect.map(tagOf(readAll("s")), (tag) => assert.strictEqual(tag, "SessionNotFound"))
    )

    test(
      "a long log is read while only its first events are wanted",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        yield* write("s", notices(1, 2000))
        assert.deepStrictEqual(seqs(yield* Stream.runCollect(Stream.take(store.read("s"), 3))), [1, 2, 3])
      })
    )

    test(
      "events of a type that is not known are kept and delivered as they are",
      Effect.gen(function*() {
        const event = {
          _tag: "FromTomorrow",
          ...base({ seq: 1 }),
          payload: { deep: [1, null, "x"] }
        } as unknown as Durable
        yield* write("s", [event])
        assert.deepStrictEqual(yield* readAll("s"), [event])
      })
    )

    test(
      "an event of a newer version is refused with both versions, and nothing is changed",
      Effect.gen(function*() {
        const newer = { ...notice({ seq: 2 }), version: RunEvent.version + 1 }
        yield* write("s", [started({ seq: 1 }), newer])
        const reason = yield* reasonOf(readAll("s"))
        assert.strictEqual(reason._tag, "StoreRefused")
        assert.include(reason.message, `version ${RunEvent.version + 1}`)
        assert.include(reason.message, `version ${RunEvent.version};`)
        assert.deepStrictEqual(seqs(yield* readAll("s", { to: 1 })), [1])
        assert.strictEqual((yield* (yield* SessionStore.SessionStore).info("s"))?.head, 2)
      })
    )

    for (
      const [claim, text] of [
        ["emoji and their joiners", "👩‍👩‍👧‍👦 🏳️‍🌈 é e\u0301"],
        ["right-to-left marks", "שלום \u202eabc\u202c"],
        ["NUL and other control characters", "a\0b\u0001\u001f\u007f\r\n\t"],
        ["a lone high surrogate", "a\ud800b"],
        ["a lone low surrogate", "\udfff"],
        ["line separators and non-characters", "\u2028\u2029\ufeff\ufffe\uffff"],
        ["quotes and backslashes", `"'\`\\" \\u0000 \\`],
        ["nothing", ""]
      ] as const
    ) {
      test(
        `text survives: ${claim}`,
        Effect.gen(function*() {
          const event = notice({ seq: 2 }, text)
          yield* write("s", [started({ seq: 1 }, `${text}.`), event])
          assert.deepStrictEqual(yield* readAll("s"), [started({ seq: 1 }, `${text}.`), event])
        })
      )
    }
  })

  describe(`${name}: watch`, () => {
    test(
      "replays the log, then delivers what is appended",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        const session = yield* open("s")
        yield* session.append(notices(1, 3))
        const replayed = yield* Deferred.make<void>()
        const fiber = yield* store.watch("s").pipe(
          Stream.tap((event) => event.seq === 3 ? Deferred.succeed(replayed, undefined) : Effect.void),
          Stream.take(6),
          Stream.runCollect,
          Effect.forkChild
        )
        yield* Deferred.await(replayed)
        yield* idle
        yield* session.append(notices(4, 5))
        yield* idle
        yield* session.append(notices(6, 6))
        assert.deepStrictEqual(yield* Fiber.join(fiber), notices(1, 6))
      })
    )

    test(
      "delivers each event once and in order while others are appended",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        const session = yield* open("s")
        yield* session.append(notices(1, 10))
        const watchers: Array<Fiber.Fiber<Array<Durable>, SessionStore.StoreError>> = []
        for (let from = 11, size = 1; from <= 300; from += size, size = size % 9 + 1) {
          if (watchers.length < 8) {
            watchers.push(yield* Effect.forkChild(Stream.runCollect(Stream.take(store.watch("s"), 300))))
          }
          yield* session.append(notices(from, Math.min(300, from + size - 1)))
          yield* Effect.yieldNow
        }
        for (const watcher of watchers) assert.deepStrictEqual(seqs(yield* Fiber.join(watcher)), Arr.range(1, 300))
      })
    )

    test(
      "starts where it is told to, also beyond the end",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        const session = yield* open("s")
        yield* session.append(notices(1, 3))
        assert.deepStrictEqual(seqs(yield* Stream.runCollect(Stream.take(store.watch("s", 2), 2))), [2, 3])
        const fiber = yield* Effect.forkChild(Stream.runCollect(Stream.take(store.watch("s", 6), 2)))
        yield* idle
        yield* session.append(notices(4, 5))
        yield* idle
        yield* session.append(notices(6, 8))
        assert.deepStrictEqual(seqs(yield* Fiber.join(fiber)), [6, 7])
      })
    )

    test(
      "waits for a session that is not there yet",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        const fiber = yield* Effect.forkChild(Stream.runCollect(Stream.take(store.watch("s"), 1)))
        yield* idle
        yield* write("s", [started({ seq: 1 })])
        assert.deepStrictEqual(seqs(yield* Fiber.join(fiber)), [1])
      })
    )

    test(
      "goes on over a change of writers",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        const fiber = yield* Effect.forkChild(Stream.runCollect(Stream.take(store.watch("s"), 3)))
        for (const seq of [1, 2, 3]) {
          yield* idle
          yield* write("s", [notice({ seq })])
        }
        assert.deepStrictEqual(seqs(yield* Fiber.join(fiber)), [1, 2, 3])
      })
    )

    test(
      "fails when the session is removed",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        const seen = yield* Deferred.make<void>()
        yield* write("s", [started({ seq: 1 })])
        const fiber = yield* store.watch("s").pipe(
          Stream.tap(() => Deferred.succeed(seen, undefined)),
          Stream.runDrain,
          Effect.forkChild
        )
        yield* Deferred.await(seen)
        yield* idle
        yield* store.remove("s")
        assert.strictEqual(yield* tagOf(Fiber.join(fiber)), "SessionNotFound")
      })
    )

    test(
      "ends when it is interrupted, and the session goes on",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        const session = yield* open("s")
        const seen = yield* Deferred.make<void>()
        const fiber = yield* store.watch("s").pipe(
          Stream.tap(() => Deferred.succeed(seen, undefined)),
          Stream.runDrain,
          Effect.forkChild
        )
        yield* session.append([started({ seq: 1 })])
        yield* Deferred.await(seen)
        yield* Fiber.interrupt(fiber)
        yield* session.append([notice({ seq: 2 })])
        assert.deepStrictEqual(seqs(yield* readAll("s")), [1, 2])
      })
    )

    test(
      "an event of a newer version is refused",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        yield* write("s", [{ ...notice({ seq: 1 }), version: RunEvent.version + 1 }])
        assert.strictEqual(yield* tagOf(Stream.runDrain(store.watch("s"))), "StoreRefused")
      })
    )
  })

  describe(`${name}: list`, () => {
    test(
      "shows what evolveInfo makes of a log",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        const at = 1_700_000_000_000
        const events = [
          started({ seq: 1, at }, "What is\nthe weather?"),
          answer({ seq: 2, at: at + 5 }),
          answer({ seq: 3, at: at + 9 }),
          completed({ seq: 4, at: at + 12 })
        ] as const
        yield* write("s", events)
        const expected: SessionStore.SessionInfo = {
          ...events.reduce(SessionStore.evolveInfo, SessionStore.newInfo("s", 0)),
          createdAt: 0
        }
        assert.deepStrictEqual(yield* store.info("s"), expected)
        assert.deepStrictEqual(yield* store.list(), [expected])
        assert.strictEqual(expected.title, "What is the weather?")
        yield* write("s", [started({ seq: 5, at: at + 20 }, "again")])
        assert.deepStrictEqual(yield* store.info("s"), { ...expected, head: 5, updatedAt: at + 20, end: undefined })
      })
    )

    test(
      "a title may hold any text",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        yield* write("s", [started({ seq: 1 }, `a\0b 👩‍👧 ${"\ud83d"}`)])
        const title = (yield* store.info("s"))?.title
        assert.isTrue(title?.startsWith("a"))
        assert.isTrue(title?.includes("👩‍👧"))
      })
    )

    test(
      "the session that changed last comes first",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        const ids = Effect.map(store.list(), (infos) => infos.map((info) => info.sessionId))
        yield* write("a", [started({ seq: 1, at: 100 })])
        yield* write("b", [started({ seq: 1, at: 200 })])
        yield* write("c", [started({ seq: 1, at: 300 })])
        assert.deepStrictEqual(yield* ids, ["c", "b", "a"])
        yield* write("a", [notice({ seq: 2, at: 400 })])
        assert.deepStrictEqual(yield* ids, ["a", "c", "b"])
      })
    )

    test(
      "pages hold every session once, also of one time",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        for (let n = 0; n < 25; n++) yield* write(`s${n}`, [started({ seq: 1, at: 100 + n % 3 })])
        const all = yield* store.list()
        const paged: Array<SessionStore.SessionInfo> = []
        for (let page = yield* store.list({ limit: 4 }); page.length > 0;) {
          assert.isAtMost(page.length, 4)
          paged.push(...page)
          page = yield* store.list({ limit: 4, after: page[page.length - 1]! })
        }
        assert.strictEqual(all.length, 25)
        assert.deepStrictEqual(paged, [...all])
      })
    )

    test(
      "a session that moves to the front does not disturb the pages behind it",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        for (let n = 1; n <= 6; n++) yield* write(`s${n}`, [started({ seq: 1, at: n })])
        const first = yield* store.list({ limit: 2 })
        yield* write("s1", [notice({ seq: 2, at: 99 })])
        const rest = yield* store.list({ after: first[1]! })
        assert.deepStrictEqual(rest.map((info) => info.sessionId), ["s4", "s3", "s2"])
      })
    )

    test(
      "an unknown session has no info",
      Effect.gen(function*() {
        assert.isUndefined(yield* (yield* SessionStore.SessionStore).info("s"))
      })
    )
  })

  describe(`${name}: remove`, () => {
    test(
      "nothing is left of a removed session, and its id is free",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        yield* write("s", notices(1, 3))
        yield* write("other", notices(1, 2))
        yield* store.remove("s")
        assert.isUndefined(yield* store.info("s"))
        assert.strictEqual(yield* tagOf(readAll("s")), "SessionNotFound")
        assert.deepStrictEqual((yield* store.list()).map((info) => info.sessionId), ["other"])
        yield* write("s", [started({ seq: 1 }, "new")])
        assert.deepStrictEqual(yield* readAll("s"), [started({ seq: 1 }, "new")])
        assert.deepStrictEqual(seqs(yield* readAll("other")), [1, 2])
      })
    )

    test(
      "a session with a live writer is busy",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        const session = yield* open("s", { runId: "live" })
        yield* session.append([started({ seq: 1 })])
        const reason = yield* reasonOf(store.remove("s"))
        assert.isTrue(reason._tag === "SessionBusy" && reason.runId === "live")
        yield* session.append([notice({ seq: 2 })])
        assert.deepStrictEqual(seqs(yield* readAll("s")), [1, 2])
      })
    )

    test(
      "an unknown session is SessionNotFound",
      Effect.gen(function*() {
        assert.strictEqual(yield* tagOf((yield* SessionStore.SessionStore).remove("s")), "SessionNotFound")
      })
    )
  })

  landmarks(name, test)
  forks(name, test)

  describe(`${name}: closing`, () => {
    it.effect("sessions that are open while their store closes still store their ends", () =>
      Effect.gen(function*() {
        const [storeScope, sessionScope, otherScope] = [yield* Scope.make(), yield* Scope.make(), yield* Scope.make()]
        const store = Context.get(yield* Layer.buildWithScope(layer, storeScope), SessionStore.SessionStore)
        const options = { runId: "run-1", create: true }
        const session = yield* Scope.provide(store.open("s", options), sessionScope)
        const other = yield* Scope.provide(store.open("other", options), otherScope)
        const closing = yield* Effect.forkChild(Scope.close(storeScope, Exit.void))
        yield* idle
        yield* session.append([started({ seq: 1 })])
        yield* Scope.close(sessionScope, Exit.void)
        yield* idle
        yield* other.append([started({ seq: 1 })])
        yield* Scope.close(otherScope, Exit.void)
        yield* Fiber.join(closing)
        assert.deepStrictEqual([session.head(), other.head()], [1, 1])
      }))
  })
}
