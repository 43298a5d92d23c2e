/**
 * Connections to Postgres that are lost around the n-th operation, and a Postgres that cannot be reached from it on, under
 * every kind of run. What passes by itself at some of the operations here; all of it with `npm run test:sweep`.
 */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as FaultSweep from "../../src/testing/FaultSweep.ts"
import type * as CuttingProxy from "../support/CuttingProxy.ts"
import * as PgDoors from "./PgDoors.ts"

const isWhole = process.env["FIBERLOOP_SWEEP"] === "all"

const check = (name: string) => ({ failures, points }: FaultSweep.Report) => {
  if (isWhole) console.log(`Postgres, ${name}: ${points} points tried, ${failures.length} failed`)
  assert.deepStrictEqual(failures, [])
  assert.isAbove(points, 20)
}

/** A connection is lost, once: what is asked next arrives or not, or is even answered. */
const lost = (name: string, last: CuttingProxy.Last, after = 0): PgDoors.Make => ({ proxy }) => ({
  name,
  passes: true,
  reason: "StoreUnavailable",
  begin: Effect.sync(() => {
    proxy.cut(1, after, last)
    return Effect.andThen(
      // what is done in one question has no second answer
      Effect.sync(() => assert.isTrue(after > 0 || proxy.cuts() === 0, "no connection was lost")),
      proxy.open
    )
  })
})

it.live(
  "Postgres: whichever connection is lost, runs end typed and sessions go on",
  () =>
    PgDoors.sweep({
      outages: [
        lost("a request is lost", "nothing"),
        lost("an answer is lost", "request"),
        lost("the second answer is lost", "request", 1),
        lost("the connection is lost after an answer", "answer")
      ],
      every: isWhole ? undefined : 13
    }).pipe(Effect.map(check("lost connections"))),
  1_200_000
)

const unreachable =
  (name: string, begin: (proxy: CuttingProxy.CuttingProxy) => Effect.Effect<void>): PgDoors.Make => ({ proxy }) => ({
    name,
    reason: "StoreUnavailable",
    refuses: ["open", "new"],
    begin: Effect.as(begin(proxy), proxy.open)
  })

it.live.runIf(isWhole)(
  "Postgres: when it cannot be reached from an operation on, runs end typed and sessions go on when it can",
  () =>
    PgDoors.sweep({
      outages: [
        unreachable("every answer is lost", (proxy) => Effect.sync(() => proxy.cut(Infinity))),
        unreachable("nobody listens", (proxy) => proxy.shut),
        unreachable("nothing comes through", (proxy) => Effect.sync(() => proxy.hold()))
      ],
      // most of them wait most of the time
      concurrency: 39,
      timeout: "2 seconds"
    }).pipe(Effect.map(check("out of reach"))),
  1_800_000
)
