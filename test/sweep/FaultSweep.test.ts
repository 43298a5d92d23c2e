/**
 * Stores of which the n-th operation fails, under every kind of run. Some of the operations here; all of them with
 * `npm run test:sweep`.
 */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { join } from "node:path"
import * as OwnerLiveness from "../../src/layers/OwnerLiveness.ts"
import * as SessionStoreSqlite from "../../src/layers/SessionStoreSqlite.ts"
import * as FaultSweep from "../../src/testing/FaultSweep.ts"
import * as SqliteFaults from "../support/SqliteFaults.ts"
import * as MemorySubjects from "./MemorySubjects.ts"
import * as SqliteSubjects from "./SqliteSubjects.ts"
import * as Subjects from "./Subjects.ts"

const isWhole = process.env["FIBERLOOP_SWEEP"] === "all"

for (
  const [name, subjects, every] of [
    ["memory", MemorySubjects.subjects, isWhole ? 1 : 3],
    ["SQLite", SqliteSubjects.subjects, isWhole ? 1 : 10]
  ] as const
) {
  it.live(
    `${name}: whatever operation of the store fails, runs end typed and sessions go on`,
    () =>
      Effect.gen(function*() {
        const report = yield* FaultSweep.sweep({ subjects, every })
        if (isWhole) console.log(`${name}: ${report.points} points tried, ${report.failures.length} failed`)
        assert.deepStrictEqual(report.failures, [])
        assert.isAbove(report.points, 30)
      }),
    600_000
  )
}

/** What happens to the file itself. Nobody waits long for a lock, nor for the lease of a session that could not be given back. */
const breakable = Subjects.make(({ folder }) =>
  SessionStoreSqlite.layer({ filename: fileIn(folder), busyTimeout: "5 millis" }).pipe(
    Layer.provide(Layer.effect(
      OwnerLiveness.OwnerLiveness,
      Effect.map(OwnerLiveness.OwnerLiveness, (liveness) => ({ ...liveness, isDead: () => true }))
    ))
  )
)

const fileIn = (folder: string) => join(folder, "sessions.db")

it.live(
  "whatever happens to the file of a database, runs end typed and sessions go on when it is back",
  () =>
    Effect.gen(function*() {
      const scope = yield* Effect.scope
      const report = yield* FaultSweep.sweep({
        subjects: breakable,
        faults: [],
        outages: ({ folder }) =>
          Object.entries(SqliteFaults.faults).map(([name, fault]) => ({
            name,
            begin: Scope.provide(fault.begin(fileIn(folder)), scope)
          })),
        every: isWhole ? 1 : 16
      })
      if (isWhole) console.log(`files: ${report.points} points tried, ${report.failures.length} failed`)
      assert.deepStrictEqual(report.failures, [])
      assert.isAbove(report.points, 20)
    }),
  600_000
)
