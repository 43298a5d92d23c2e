/** What `fork` does in every session store; a part of `SessionStoreSuite`. */
import { assert, describe } from "@effect/vitest"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as Message from "../../src/run/Message.ts"
import * as RunEvent from "../../src/run/RunEvent.ts"
import * as RunState from "../../src/run/RunState.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"
import * as Draft from "../support/Drafts.ts"
import {
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

type Test = <A, E>(claim: string, body: Effect.Effect<A, E, SessionStore.SessionStore | Scope.Scope>) => void

const usage = { inputTokens: 10, outputTokens: 5 }

/** Two turns of a run and its end, and a second run that is live. It may be forked at 6, 9 and 10. */
export const conversation = Draft.log(
  Draft.started("What is the weather?"),
  Draft.turnStarted(1),
  Draft.assistant([Draft.call("search")], { finishReason: "tool-calls", usage }),
  Draft.toolStarted("1.0"),
  Draft.settled("1.0", "rain", { usage }),
  Draft.turnFinished(1),
  Draft.turnStarted(2),
  Draft.assistant([Message.text("It rains.")], { turn: 2, usage }),
  Draft.turnFinished(2),
  Draft.completed({ turns: 2 }),
  { ...Draft.started("And tomorrow?"), runId: "run-2" },
  { ...Draft.turnStarted(1), runId: "run-2" }
)

const failed: RunEvent.Draft = {
  _tag: "RunFailed",
  error: { _tag: "RetryableError", reason: { _tag: "StoreUnavailable", message: "down" } },
  totals: Draft.totals
}

const fork = (sessionId: string, to: string, at?: number) =>
  Effect.flatMap(
    SessionStore.SessionStore,
    (store) => store.fork(sessionId, { to, ...(at === undefined ? {} : { at }) })
  )

const infoOf = (sessionId: string) => Effect.flatMap(SessionStore.SessionStore, (store) => store.info(sessionId))

/** The field that was refused and why. */
const refusalOf = <A, R>(effect: Effect.Effect<A, SessionStore.StoreError, R>) =>
  Effect.map(reasonOf(effect), (reason) => {
    assert.strictEqual(reason._tag, "InvalidInput")
    return reason._tag === "InvalidInput" ? reason : assert.fail(reason._tag)
  })

export const forks = (name: string, test: Test): void => {
  describe(`${name}: fork, the copy`, () => {
    test(
      "is the log up to its last end, as it is",
      Effect.gen(function*() {
        yield* write("s", conversation)
        yield* fork("s", "copy")
        assert.deepStrictEqual(yield* readAll("copy"), conversation.slice(0, 10))
      })
    )

    test(
      "is the log up to the last turn where no run has ended",
      Effect.gen(function*() {
        yield* write("s", Arr.take(conversation, 8) as Arr.NonEmptyArray<Durable>)
        yield* fork("s", "copy")
        assert.deepStrictEqual((yield* readAll("copy")).slice(0, 6), conversation.slice(0, 6))
      })
    )

    for (const at of [6, 9, 10]) {
      test(
        `is the log up to event ${at} when that is asked for`,
        Effect.gen(function*() {
          yield* write("s", conversation)
          yield* fork("s", "copy", at)
          assert.deepStrictEqual((yield* readAll("copy")).slice(0, at), conversation.slice(0, at))
        })
      )
    }

    for (const end of [Draft.limited(), Draft.suspended, Draft.aborted, failed]) {
      test(
        `may end with ${end._tag}, which is left as it is`,
        Effect.gen(function*() {
          const log = Draft.log(Draft.started("x"), Draft.turnStarted(1), end)
          yield* write("s", log)
          assert.strictEqual((yield* fork("s", "copy", 3)).end, end._tag)
          assert.deepStrictEqual(yield* readAll("copy"), [...log])
        })
      )
    }

    test(
      "keeps events of types that are not known, and any text",
      Effect.gen(function*() {
        const tomorrow = { _tag: "FromTomorrow", ...base({ seq: 2 }), payload: { deep: [1, null, "\0"] } }
        const log = [
          started({ seq: 1 }, "👩‍👩‍👧‍👦 \u202eabc\u202c a\0b \ud800 \u2028"),
          tomorrow as unknown as Durable,
          notice({ seq: 3, runId: "run-7", at: 2 }, "\udfff"),
          completed({ seq: 4 })
        ] as const
        yield* write("s", log)
        yield* fork("s", "copy")
        assert.deepStrictEqual(yield* readAll("copy"), [...log])
      })
    )

    test(
      "holds thousands of events",
      Effect.gen(function*() {
        yield* write("s", [...notices(1, 2500), completed({ seq: 2501 })])
        yield* fork("s", "copy")
        assert.deepStrictEqual(yield* readAll("copy"), [...notices(1, 2500), completed({ seq: 2501 })])
      })
    )

    test(
      "goes on by itself, and leaves the session alone",
      Effect.gen(function*() {
        yield* write("s", conversation)
        yield* fork("s", "copy")
        yield* write("copy", [started({ seq: 11, runId: "run-3" }, "copy only")])
        yield* write("s", [notice({ seq: 13 }, "session only")])
        assert.deepStrictEqual(yield* readAll("s"), [...conversation, notice({ seq: 13 }, "session only")])
        assert.deepStrictEqual(yield* readAll("copy"), [
          ...conversation.slice(0, 10),
          started({ seq: 11, runId: "run-3" }, "copy only")
        ])
      })
    )

    test(
      "stays when the session is removed",
      Effect.gen(function*() {
        yield* write("s", conversation)
        yield* fork("s", "copy")
        yield* (yield* SessionStore.SessionStore).remove("s")
        assert.deepStrictEqual(yield* readAll("copy"), conversation.slice(0, 10))
      })
    )

    test(
      "can be forked",
      Effect.gen(function*() {
        yield* write("s", conversation)
        yield* fork("s", "copy", 6)
        yield* fork("copy", "copy of the copy")
        assert.deepStrictEqual(yield* readAll("copy of the copy"), yield* readAll("copy"))
      })
    )

    test(
      "is watched by who waited for it",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        const fiber = yield* Effect.forkChild(Stream.runCollect(Stream.take(store.watch("copy"), 10)))
        yield* write("s", conversation)
        yield* idle
        yield* fork("s", "copy")
        assert.deepStrictEqual(yield* Fiber.join(fiber), conversation.slice(0, 10))
      })
    )
  })

  describe(`${name}: fork, inside a run`, () => {
    test(
      "the copy ends with an abort, at the time of the fork",
      Effect.gen(function*() {
        yield* write("s", conversation)
        yield* TestClock.adjust("1 hour")
        yield* fork("s", "copy", 6)
        const { totals: _, ...end } = (yield* readAll("copy")).at(-1) as RunEvent.End
        assert.deepStrictEqual(end, {
          _tag: "RunAborted",
          ...base({ seq: 7, at: 3_600_000 }),
          reason: "forked"
        })
      })
    )

    test(
      "the abort counts what the run had used up by then, and no time since",
      Effect.gen(function*() {
        yield* write("s", conversation)
        yield* TestClock.adjust("1 hour")
        yield* fork("s", "copy", 6)
        const end = (yield* readAll("copy")).at(-1) as RunEvent.End
        assert.deepStrictEqual(end.totals, {
          turns: 1,
          toolRounds: 1,
          toolCalls: 1,
          errors: 0,
          compactions: 0,
          duration: 5,
          usage: { inputTokens: 20, outputTokens: 10 }
        })
      })
    )

    test(
      "the abort counts that run only",
      Effect.gen(function*() {
        const turn = [Draft.turnStarted(1), Draft.assistant([Message.text("Sun.")], { usage }), Draft.turnFinished(1)]
        const second = turn.map((draft, i) => ({ ...draft, ...base({ seq: 12 + i, runId: "run-2" }) }) as Durable)
        yield* write("s", [...Arr.take(conversation, 11), ...second] as unknown as Arr.NonEmptyArray<Durable>)
        yield* fork("s", "copy")
        const end = (yield* readAll("copy")).at(-1) as RunEvent.End
        assert.strictEqual(end.runId, "run-2")
        assert.strictEqual(end.totals.turns, 1)
        assert.deepStrictEqual(end.totals.usage, usage)
      })
    )

    test(
      "the abort counts a run of many turns",
      Effect.gen(function*() {
        const turns = Arr.range(1, 700).flatMap((turn) => [
          Draft.turnStarted(turn),
          Draft.assistant([Message.text("on")], { turn, usage }),
          Draft.turnFinished(turn)
        ])
        yield* write("s", Draft.log(Draft.started("count"), ...turns) as unknown as Arr.NonEmptyArray<Durable>)
        yield* fork("s", "copy")
        const end = (yield* readAll("copy")).at(-1) as RunEvent.End
        assert.deepStrictEqual(end.totals, {
          ...Draft.totals,
          turns: 700,
          duration: 2100,
          usage: { inputTokens: 7000, outputTokens: 3500 }
        })
      })
    )

    test(
      "the copy takes the next run at once",
      Effect.gen(function*() {
        yield* write("s", conversation)
        yield* fork("s", "copy", 6)
        const state = (yield* readAll("copy")).reduce(RunState.evolve, RunState.empty)
        assert.isFalse(RunState.isOpen(state))
        const session = yield* open("copy", { create: false })
        assert.strictEqual(session.head(), 7)
        yield* session.append([started({ seq: 8, runId: "run-3" })])
        assert.deepStrictEqual(seqs(yield* readAll("copy")), Arr.range(1, 8))
      })
    )

    test(
      "the session itself is not ended",
      Effect.gen(function*() {
        const session = yield* open("s", { runId: "live" })
        yield* session.append(Arr.take(conversation, 6) as Arr.NonEmptyArray<Durable>)
        yield* fork("s", "copy")
        yield* session.append([conversation[6]])
        assert.deepStrictEqual(yield* readAll("s"), conversation.slice(0, 7))
      })
    )
  })

  describe(`${name}: fork, refused`, () => {
    for (
      const [at, nearest] of [
        [1, "place is event 6"],
        [5, "place is event 6"],
        [7, "places are events 6 and 9"],
        [8, "places are events 6 and 9"],
        [11, "place is event 10"],
        [99, "place is event 10"],
        [Infinity, "place is event 10"],
        [NaN, "place is event 10"],
        [0, "place is event 6"],
        [-1, "place is event 6"],
        [6.5, "places are events 6 and 9"]
      ] as const
    ) {
      test(
        `at event ${at}: the nearest ${nearest}`,
        Effect.gen(function*() {
          yield* write("s", conversation)
          const { field, message } = yield* refusalOf(fork("s", "copy", at))
          assert.strictEqual(field, "at")
          for (const part of [`"s"`, `event ${at},`, `nearest ${nearest}.`]) assert.include(message, part)
          assert.isUndefined(yield* infoOf("copy"))
        })
      )
    }

    test(
      "where no turn has ended",
      Effect.gen(function*() {
        yield* write("s", Arr.take(conversation, 5) as Arr.NonEmptyArray<Durable>)
        for (const at of [undefined, 3]) {
          const { field, message } = yield* refusalOf(fork("s", "copy", at))
          assert.strictEqual(field, "at")
          assert.include(message, "none of its turns has ended")
        }
        assert.isUndefined(yield* infoOf("copy"))
      })
    )

    test(
      "for an unknown session",
      Effect.gen(function*() {
        yield* open("unwritten")
        assert.strictEqual(yield* tagOf(fork("s", "copy")), "SessionNotFound")
        assert.strictEqual(yield* tagOf(fork("unwritten", "copy")), "SessionNotFound")
      })
    )

    for (const to of ["other", "s"]) {
      test(
        `to the id of ${to === "s" ? "the session itself" : "another session"}, which stays as it is`,
        Effect.gen(function*() {
          yield* write("s", conversation)
          yield* write("other", notices(1, 3))
          const before = yield* readAll(to)
          const { field, message } = yield* refusalOf(fork("s", to))
          assert.strictEqual(field, "to")
          assert.include(message, `"${to}"`)
          assert.deepStrictEqual(yield* readAll(to), before)
        })
      )
    }

    test(
      "to an id that another is about to write to",
      Effect.gen(function*() {
        yield* write("s", conversation)
        const session = yield* open("copy", { runId: "first" })
        const reason = yield* reasonOf(fork("s", "copy"))
        assert.isTrue(reason._tag === "SessionBusy" && reason.runId === "first" && reason.sessionId === "copy")
        yield* session.append([started({ seq: 1 })])
        assert.deepStrictEqual(yield* readAll("copy"), [started({ seq: 1 })])
      })
    )

    test(
      "to an id that a database cannot keep",
      Effect.gen(function*() {
        yield* write("s", conversation)
        assert.strictEqual(yield* tagOf(fork("s", "a\0b")), "StoreRefused")
        assert.strictEqual(yield* tagOf(fork("s", "a\ud800b")), "StoreRefused")
      })
    )

    test(
      "behind an event of a newer version, and not before it",
      Effect.gen(function*() {
        const newer = { ...completed({ seq: 3 }), version: RunEvent.version + 1 }
        yield* write("s", [started({ seq: 1 }), completed({ seq: 2 }), newer, completed({ seq: 4 })])
        const reason = yield* reasonOf(fork("s", "copy"))
        assert.strictEqual(reason._tag, "StoreRefused")
        assert.include(reason.message, `Event 3 of session "s" has version ${RunEvent.version + 1}`)
        assert.isUndefined(yield* infoOf("copy"))
        assert.strictEqual((yield* fork("s", "copy", 2)).head, 2)
      })
    )

    test(
      "to all but one of those who want the same id at once",
      Effect.gen(function*() {
        yield* write("s", conversation)
        const results = yield* Effect.forEach(
          Arr.range(1, 20),
          () =>
            Effect.match(fork("s", "copy", 6), { onFailure: ({ reason }) => reason._tag, onSuccess: () => "forked" }),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(results.toSorted(), [...Arr.replicate("InvalidInput", 19), "forked"])
        assert.deepStrictEqual((yield* readAll("copy")).slice(0, 6), conversation.slice(0, 6))
      })
    )
  })

  describe(`${name}: fork, in lists`, () => {
    test(
      "the copy has its own counters, and the session keeps its own",
      Effect.gen(function*() {
        yield* write("s", conversation)
        const before = yield* infoOf("s")
        yield* TestClock.adjust("1 minute")
        const info = yield* fork("s", "copy", 6)
        assert.deepStrictEqual(info, {
          sessionId: "copy",
          title: "What is the weather?",
          createdAt: 60_000,
          updatedAt: 60_000,
          head: 7,
          turns: 1,
          end: "RunAborted"
        })
        assert.deepStrictEqual(yield* infoOf("copy"), info)
        assert.deepStrictEqual(yield* infoOf("s"), before)
      })
    )

    test(
      "a copy that ends with a run shows its end",
      Effect.gen(function*() {
        yield* write("s", conversation)
        const info = yield* fork("s", "copy")
        assert.deepStrictEqual([info.head, info.turns, info.end], [10, 2, "RunCompleted"])
        assert.deepStrictEqual(yield* infoOf("copy"), info)
      })
    )

    test(
      "the copy comes first, having changed last",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        yield* write("s", conversation)
        yield* write("other", [started({ seq: 1, at: 30_000 })])
        yield* TestClock.adjust("1 minute")
        const info = yield* fork("s", "copy")
        const infos = yield* store.list()
        assert.deepStrictEqual(infos.map(({ sessionId }) => sessionId), ["copy", "other", "s"])
        assert.deepStrictEqual(infos[0], info)
      })
    )

    test(
      "the title is of the first words in the copy",
      Effect.gen(function*() {
        yield* write("s", [
          started({ seq: 1 }, " "),
          completed({ seq: 2 }),
          started({ seq: 3 }, ""),
          completed({ seq: 4 }),
          started({ seq: 5 }, "words"),
          completed({ seq: 6 })
        ])
        const titles = yield* Effect.forEach([2, 4, 6], (at) => fork("s", `copy ${at}`, at))
        assert.deepStrictEqual(titles.map(({ title }) => title), ["", "", "words"])
      })
    )

    test(
      "a refused fork leaves nothing",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        yield* write("s", conversation)
        yield* refusalOf(fork("s", "copy", 1))
        yield* refusalOf(fork("s", "s"))
        assert.deepStrictEqual((yield* store.list()).map(({ sessionId }) => sessionId), ["s"])
      })
    )
  })
}
