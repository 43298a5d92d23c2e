/**
 * A Postgres that is stopped or killed at the n-th operation of a store, under every kind of run, and comes
 * back. Each point waits as long as an append asks after its fate, so this runs only with `npm run test:sweep`.
 */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import * as OwnerLiveness from "../../src/layers/OwnerLiveness.ts"
import * as SessionStorePg from "../../src/layers/SessionStorePg.ts"
import * as FaultSweep from "../../src/testing/FaultSweep.ts"
import * as Postgres from "../support/Postgres.ts"
import * as Subjects from "./Subjects.ts"

it.live(
  "Postgres: whenever it is stopped or killed, runs end typed and sessions continue once it is back",
  () =>
    Effect.gen(function*() {
      const postgres = yield* Effect.acquireRelease(
        Effect.promise(() => Postgres.start()),
        ({ remove }) => Effect.promise(remove)
      )
      // nobody waits for a session that could not be given back
      const impatient = Layer.effect(
        OwnerLiveness.OwnerLiveness,
        Effect.map(OwnerLiveness.OwnerLiveness, (liveness) => ({ ...liveness, isDead: () => true }))
      )
      const subjects = Subjects.make(() =>
        SessionStorePg.layer({ url: postgres.url, maxConnections: 2, connectTimeout: "1 second" }).pipe(
          Layer.provide(impatient)
        )
      )
      // processes of the previous server may hold its files for a moment
      const back = Effect.tryPromise(() => postgres.start()).pipe(
        Effect.retry({ times: 50, schedule: Schedule.spaced("100 millis") }),
        Effect.orDie
      )
      const outage = (name: string, end: () => Promise<void>) => ({ name, begin: Effect.as(Effect.promise(end), back) })
      const report = yield* FaultSweep.sweep({
        subjects,
        faults: [],
        outages: () => [outage("stopped", () => postgres.stop()), outage("killed", () => postgres.kill())],
        every: 9
      })
      console.log(`Postgres outages: ${report.points} points tried, ${report.failures.length} failed`)
      assert.deepStrictEqual(report.failures, [])
      assert.isAbove(report.points, 10)
    }),
  1_200_000
)
