/** Every scenario on a SQLite file that a sweep breaks. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as OwnerLiveness from "../../src/layers/OwnerLiveness.ts"
import * as SessionStoreSqlite from "../../src/layers/SessionStoreSqlite.ts"
import type * as CrashSweep from "../../src/testing/CrashSweep.ts"
import * as Subjects from "./Subjects.ts"

/** Nobody waits for the lease of a session that could not be given back. */
export const impatient = Layer.effect(
  OwnerLiveness.OwnerLiveness,
  Effect.map(OwnerLiveness.OwnerLiveness, (liveness) => ({ ...liveness, isDead: () => true }))
)

/** Nor long for a lock. */
export const make = (fileOf: (place: CrashSweep.Place) => string): CrashSweep.Subjects =>
  Subjects.make((place) =>
    SessionStoreSqlite.layer({ filename: fileOf(place), busyTimeout: "5 millis" }).pipe(Layer.provide(impatient))
  )
