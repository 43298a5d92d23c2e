/** What a transaction fails with where its ROLLBACK fails too: clients then die of both. */
import { assert, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as SqlError from "effect/sql/SqlError"
import * as Transaction from "../../../src/layers/sql/Transaction.ts"
import * as RunError from "../../../src/run/RunError.ts"

const lost = new SqlError.SqlError({ reason: new SqlError.UnknownError({ cause: "lost" }) })
const bug = new TypeError("a bug")

const after = (cause: Cause.Cause<never>) =>
  Effect.flip(Effect.sandbox(Transaction.faults(Effect.failCause(Cause.combine(cause, Cause.die(lost))))))

it.effect("a lost connection counts, beside nothing and beside what the transaction failed with", () =>
  Effect.gen(function*() {
    const refused = RunError.invalidInput("to", "it is in use")
    for (const cause of [Cause.empty, Cause.die(refused)]) {
      assert.deepStrictEqual(yield* after(cause), Cause.fail(lost))
    }
  }))

it.effect("a bug, and an interruption, stay what they are", () =>
  Effect.gen(function*() {
    for (const cause of [Cause.die(bug), Cause.interrupt(1)]) {
      assert.deepStrictEqual(yield* after(cause), Cause.combine(cause, Cause.die(lost)))
    }
  }))
