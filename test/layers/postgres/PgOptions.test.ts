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

const refused = (url: string) =>
  Effect.map(Effect.flip(SessionStorePg.make({ url })), ({ message, reason }) => {
    assert.strictEqual(reason._tag, "StoreRefused")
    return message
  })

it.effect.each([
  ["connect_timeout=abc", "Invalid connect_timeout in URL: \"abc\""],
  ["port=many", "Invalid port in URL port parameter: \"many\""],
  ["sslmode=maybe", "Unrecognized sslmode in URL: \"maybe\""],
  ["user=a%00b", "Startup parameter \"user\" must not contain NUL"]
])("a URL with %s is refused", ([query, problem]) =>
  Effect.gen(function*() {
    const message = yield* refused(`postgres://me@localhost:1/none?${query}`)
    assert.strictEqual(message, `The URL of the session database cannot be used (${problem}). Correct it.`)
  }))

it.effect("a password that is not encoded is refused, and not shown", () =>
  Effect.gen(function*() {
    const message = yield* refused("postgres://me:s3cret%zz@localhost:1/none")
    assert.include(message, "(Invalid percent-encoding in URL password)")
    assert.notInclude(message, "s3cret")
  }))

/** An environment that names no user, as in most containers. */
const noUser = Effect.acquireRelease(
  Effect.sync(() => {
    const { USER, USERNAME } = process.env
    delete process.env["USER"]
    delete process.env["USERNAME"]
    return { USER, USERNAME }
  }),
  (before) =>
    Effect.sync(() => {
      for (const [name, value] of Object.entries(before)) if (value !== undefined) process.env[name] = value
    })
)

it.effect.each(["postgres://localhost:1/none", "postgres://"])(
  "%s is refused where nothing else names a user",
  (url) =>
    Effect.gen(function*() {
      yield* noUser
      assert.strictEqual(
        yield* refused(url),
        "The URL of the session database names no user, and neither does USER in the environment: write " +
          "postgres://user@host:5432/database."
      )
    })
)
