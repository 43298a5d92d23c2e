/** Options of the Postgres store with values that they cannot have: refused by name, before anything is connected. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as SessionStorePg from "../../../src/layers/SessionStorePg.ts"

it.effect.each<readonly [object, string]>([
  [
    { poled: true },
    "SessionStorePg has no \"poled\"; it has url, maxConnections, idleTimeout, connectTimeout, timeout, pooled"
  ],
  [{ maxConnections: 0 }, "maxConnections must be a whole number of at least 1, not 0."],
  [{ maxConnections: 2.5 }, "maxConnections must be a whole number of at least 1, not 2.5."],
  [{ maxConnections: NaN }, "maxConnections must be a whole number of at least 1, not NaN."],
  [{ maxConnections: 10n }, "maxConnections must be a whole number of at least 1, not 10."],
  [{ maxConnections: "4" }, "maxConnections must be a whole number of at least 1, not \"4\"."],
  [{ pooled: "false" }, "pooled must be true or false, not \"false\"."],
  [{ timeout: "-5 seconds" }, "timeout must be a duration of at least 1 millisecond, not \"-5 seconds\"."],
  [{ timeout: 0 }, "timeout must be a duration of at least 1 millisecond, not 0."],
  [{ connectTimeout: "soon" }, "connectTimeout must be a duration of at least 1 millisecond, not \"soon\"."],
  [{ idleTimeout: NaN }, "idleTimeout must be a duration of at least 1 millisecond, not NaN."]
])("%# is refused", ([wrong, message]) =>
  Effect.gen(function*() {
    // nothing listens there: whatever is connected fails otherwise
    const given = { url: "postgres://me@localhost:1/none", ...wrong } as SessionStorePg.Options
    const error = yield* Effect.flip(SessionStorePg.make(given))
    assert.deepStrictEqual([error.reason._tag, error.message], ["StoreRefused", message])
  }))
