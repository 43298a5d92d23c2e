/** The steps by which stores migrate events of older versions to this one when they read them. */
import * as Context from "effect/Context"
import * as EventMigrations from "../run/log/EventMigrations.ts"

/** Captured when a store is built. Default: those of all released versions. */
export const Migrations = Context.Reference<EventMigrations.Steps>("fiberloop/services/Migrations", {
  defaultValue: () => EventMigrations.steps
})
