/**
 * Connections to Postgres that are lost around the n-th operation, and a Postgres out of reach from then on, under
 * every kind of run. Faults that pass by themselves at some operations here; everything with `npm run test:sweep`.
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

/** A connection is lost once: the next request does not arrive, or arrives, or is even answered. */
const lost = (name: string, last: CuttingProxy.Last, after = 0): PgDoors.Make => ({ proxy }) => ({
  name,
  passes: true,
  reason: "StoreUnavailable",
  begin: Effect.sync(() => {
    proxy.cut(1, after, last)
    return Effect.andThen(
      // an operation of one request has no second answer
      Effect.sync(() => assert.isTrue(after > 0 || proxy.cuts() === 0, "no connection was lost")),
      proxy.open
    )
  })
})

it.live(
  "Postgres: whenever a connection is lost, runs end typed and sessions continue",
  () =>
    PgDoors.sweep({
      outages: [
        lost("a request is lost", "nothing"),
        lost("an answer is lost", "request"),
        lost("the second answer is lost", "request", 1),
        lost("the connection is lost after an answer", "answer")
      ],
      every: isWhole ? undefined : 19
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
  "Postgres: whenever it goes out of reach, runs end typed and sessions continue once it is reachable",
  () =>
    PgDoors.sweep({
      outages: [
        unreachable("every answer is lost", (proxy) => Effect.sync(() => proxy.cut(Infinity))),
        unreachable("nobody listens", (proxy) => proxy.shut),
        unreachable("nothing comes through", (proxy) => Effect.sync(() => proxy.hold()))
      ],
      // they mostly wait
      concurrency: 39,
      timeout: "2 seconds"
    }).pipe(Effect.map(check("out of reach"))),
  1_800_000
)
