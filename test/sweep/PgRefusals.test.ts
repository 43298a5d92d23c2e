/**
 * A Postgres that refuses from the n-th operation on, or lets another program lock the tables, under every kind of run. Some
 * of the operations here; all of them with `npm run test:sweep`.
 */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as FaultSweep from "../../src/testing/FaultSweep.ts"
import * as PgDatabases from "../support/PgDatabases.ts"
import * as PgDoors from "./PgDoors.ts"

const isWhole = process.env["FIBERLOOP_SWEEP"] === "all"

const check = (name: string) => ({ failures, points }: FaultSweep.Report) => {
  if (isWhole) console.log(`Postgres, ${name}: ${points} points tried, ${failures.length} failed`)
  assert.deepStrictEqual(failures, [])
  assert.isAbove(points, 20)
}

const tables = ["fiberloop_sessions", "fiberloop_events"]

/** Every write fails, as it does in this state of the server. */
const failing =
  (name: string, state: string, reason: "StoreUnavailable" | "StoreRefused"): PgDoors.Make => ({ url }) => ({
    name,
    reason,
    refuses: ["open", "new"],
    begin: Effect.gen(function*() {
      yield* PgDatabases.query(
        url,
        `CREATE FUNCTION fail() RETURNS trigger AS 'BEGIN RAISE EXCEPTION ''failed'' USING ERRCODE = ''${state}''; END'
        LANGUAGE plpgsql`
      )
      for (const table of tables) {
        const on = `BEFORE INSERT OR UPDATE OR DELETE ON ${table} FOR EACH ROW EXECUTE FUNCTION fail()`
        yield* PgDatabases.query(url, `CREATE TRIGGER fail ${on}`)
      }
      return Effect.asVoid(PgDatabases.query(url, "DROP FUNCTION fail CASCADE"))
    })
  })

it.live(
  "Postgres: whenever it refuses writes, runs end typed and sessions continue once it accepts them",
  () =>
    PgDoors.sweep({
      outages: [
        failing("a full disk", "53100", "StoreUnavailable"),
        failing("no permission", "42501", "StoreRefused"),
        failing("a read-only database", "25006", "StoreRefused"),
        failing("a damaged table", "XX001", "StoreRefused")
      ],
      every: isWhole ? undefined : 19
    }).pipe(Effect.map(check("refused writes"))),
  1_200_000
)

const locked: PgDoors.Make = ({ url }) => ({
  name: "tables that another program has locked",
  reason: "StoreUnavailable",
  refuses: ["open", "new"],
  begin: PgDatabases.lock(url, ...tables)
})

it.live.runIf(isWhole)(
  "Postgres: whenever its tables are locked, runs end typed and sessions continue once they are unlocked",
  () => Effect.map(PgDoors.sweep({ outages: [locked], timeout: "2 seconds" }), check("locked tables")),
  1_800_000
)
