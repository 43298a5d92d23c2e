/** Fault sweeps over Postgres; every kind of run has tables and a door of its own, since they mostly wait. */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as SessionStorePg from "../../src/layers/SessionStorePg.ts"
import * as FaultSweep from "../../src/testing/FaultSweep.ts"
import * as CuttingProxy from "../support/CuttingProxy.ts"
import * as PgDatabases from "../support/PgDatabases.ts"
import * as BreakableSubjects from "./BreakableSubjects.ts"
import * as MemorySubjects from "./MemorySubjects.ts"
import * as Subjects from "./Subjects.ts"

export interface Door {
  readonly proxy: CuttingProxy.CuttingProxy
  /** of the tables, as the database's owner and past the proxy */
  readonly url: string
}

export type Make = (door: Door) => FaultSweep.Outage

/** Notifications to watchers in other processes are sent after an operation, and may get lost. */
const isOperation = (request: string) => !request.includes("pg_notify")

export interface Options {
  readonly outages: ReadonlyArray<Make>
  /** try every n-th operation, and each kind of run under one outage alone; default all under all */
  readonly every?: number | undefined
  /** kinds of runs at once; default 13 */
  readonly concurrency?: number
  /** how long a store waits for an answer; by default longer than a busy machine takes for one */
  readonly timeout?: Duration.Input
}

export const sweep = Effect.fnUntraced(
  function*(
    { concurrency = 13, every, outages, timeout = "10 seconds" }: Options
  ): Effect.fn.Return<FaultSweep.Report, never, Scope.Scope> {
    const database = yield* PgDatabases.database
    const names = Object.keys(MemorySubjects.subjects)
    const each = outages.flatMap((make, kind) =>
      names.filter((_, at) => every === undefined || at % outages.length === kind).map((name) => ({ make, name }))
    )
    const reports = yield* Effect.forEach(
      each,
      Effect.fnUntraced(function*({ make, name }) {
        const url = yield* PgDatabases.schema(database)
        const proxy = yield* CuttingProxy.make(Number(new URL(url).port), isOperation)
        const subjects = Subjects.make(() => store(url, proxy.port, timeout))
        return yield* FaultSweep.sweep({
          subjects: { [name]: subjects[name]! },
          faults: [],
          outages: () => [make({ proxy, url })],
          every: every ?? 1
        })
      }, Effect.scoped),
      { concurrency }
    )
    return { points: reports.reduce((n, { points }) => n + points, 0), failures: reports.flatMap((_) => _.failures) }
  },
  Effect.scoped
)

const store = (url: string, port: number, timeout: Duration.Input) => {
  const door = new URL(url)
  door.port = String(port)
  return SessionStorePg.layer({
    url: door.href,
    maxConnections: 2,
    timeout,
    connectTimeout: timeout
  }).pipe(Layer.provide(BreakableSubjects.impatient))
}
