/** Every scenario on Postgres, in the database that the environment names; each death has a session of its own. */
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SessionStorePg from "../../src/layers/SessionStorePg.ts"
import * as Subjects from "./Subjects.ts"

export const database = "FIBERLOOP_SWEEP_DATABASE"

export const subjects = Subjects.make(() =>
  Layer.unwrap(Effect.map(Config.String(database), (url) => SessionStorePg.layer({ url, maxConnections: 2 })))
)
