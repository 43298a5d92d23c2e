/** How long a store tries to give a session back in a database that does not answer. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Reactivity from "effect/reactivity/Reactivity"
import * as SqlError from "effect/sql/SqlError"
import * as TestClock from "effect/testing/TestClock"
import type * as Answered from "../../../src/layers/sql/Answered.ts"
import * as SessionRelease from "../../../src/layers/sql/SessionRelease.ts"
import * as SqliteClient from "../../../src/layers/SqliteClient.ts"

it.effect("a session that cannot be given back is asked about until its lease is over, and no longer", () =>
  Effect.gen(function*() {
    const sql = yield* SqliteClient.make({ filename: ":memory:" }).pipe(Effect.provide(Reactivity.layer))
    let tries = 0
    const answered: Answered.Answered = () =>
      Effect.suspend(() => {
        tries++
        return Effect.fail(new SqlError.SqlError({ reason: new SqlError.UnknownError({ cause: "away" }) }))
      })
    const releases = yield* SessionRelease.make(sql, "30 seconds", answered)
    yield* releases.later({ sessionId: "s", owner: "one", head: 1 })
    yield* TestClock.adjust("29 seconds")
    assert.isTrue(releases.isGiven("one"))
    yield* TestClock.adjust("1 second")
    const before = tries
    assert.isAtLeast(before, 50)
    yield* TestClock.adjust("1 minute")
    assert.strictEqual(tries, before)
    assert.isFalse(releases.isGiven("one"))
  }))
