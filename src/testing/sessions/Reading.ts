/** What `read` returns in every session store; a part of `SessionStoreSuite`. */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as RunEvent from "../../run/RunEvent.ts"
import * as SessionStore from "../../services/SessionStore.ts"
import {
  base,
  type Durable,
  notice,
  notices,
  open,
  readAll,
  reasonOf,
  seqs,
  started,
  tagOf,
  write
} from "./Fixtures.ts"
import { assert, describe, type Test } from "./TestRunner.ts"

const shown = (range: object) => Object.entries(range).map(([end, seq]) => `${end} ${seq}`).join(" ")

export const reading = (name: string, test: Test): void => {
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
        [{ from: -3, to: 2 }, [1, 2]],
        [{ to: -3 }, []],
        [{ from: 8.5 }, [9, 10]],
        [{ to: 1.5 }, [1]],
        [{ from: -Infinity, to: Infinity }, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]],
        [{ from: Infinity }, []],
        [{ from: NaN, to: NaN }, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]],
        [{ from: undefined, to: undefined }, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]]
      ] as const
    ) {
      test(
        `reads ${shown(range)}, both ends included`,
        Effect.gen(function*() {
          yield* write("s", notices(1, 10))
          assert.deepStrictEqual(seqs(yield* readAll("s", range)), [...expected])
        })
      )
    }

    test(
      "an unknown session fails with SessionNotFound",
      Effect.map(tagOf(readAll("s")), (tag) => assert.strictEqual(tag, "SessionNotFound"))
    )

    test(
      "the first events of a long log can be read alone",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        yield* write("s", notices(1, 2000))
        assert.deepStrictEqual(seqs(yield* Stream.runCollect(Stream.take(store.read("s"), 3))), [1, 2, 3])
      })
    )

    test(
      "events of an unknown type are kept and delivered unchanged",
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
      "the content of an event keeps its keys, their order and the value of numbers",
      Effect.gen(function*() {
        const payload = JSON.parse(
          `{"z":1,"a":{"__proto__":{"x":null},"constructor":[],"":[[{}]]},"B":[0.1,1e21,5e-324,9007199254740991,-1.5e300]}`
        )
        const event = { _tag: "FromTomorrow", ...base({ seq: 1 }), payload } as unknown as Durable
        yield* write("s", [event])
        const [read] = yield* readAll("s")
        assert.strictEqual(
          JSON.stringify((read as unknown as typeof event & { payload: unknown }).payload),
          JSON.stringify(payload)
        )
      })
    )

    test(
      "what is appended during a read is not part of it",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        const session = yield* open("s")
        yield* session.append(notices(1, 700))
        const more = (event: Durable) => event.seq === 1 ? session.append(notices(701, 705)) : Effect.void
        const events = yield* Stream.runCollect(Stream.tap(store.read("s"), more))
        assert.deepStrictEqual(seqs(events), Arr.range(1, 700))
      })
    )

    test(
      "reading again returns the log as it is then",
      Effect.gen(function*() {
        const log = readAll("s")
        yield* write("s", notices(1, 2))
        assert.deepStrictEqual(seqs(yield* log), [1, 2])
        yield* write("s", notices(3, 3))
        assert.deepStrictEqual(seqs(yield* log), [1, 2, 3])
      })
    )

    test(
      "an event of a newer version is refused, naming both versions, and nothing changes",
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
        `text survives unchanged: ${claim}`,
        Effect.gen(function*() {
          const event = notice({ seq: 2 }, text)
          yield* write("s", [started({ seq: 1 }, `${text}.`), event])
          assert.deepStrictEqual(yield* readAll("s"), [started({ seq: 1 }, `${text}.`), event])
        })
      )
    }
  })
}
