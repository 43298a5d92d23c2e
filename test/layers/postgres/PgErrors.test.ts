/** What a server says is reported on one line, whatever it says, with what to do about it. */
import { assert, describe, it } from "@effect/vitest"
import * as SqlError from "effect/sql/SqlError"
import * as PgErrors from "../../../src/layers/postgres/PgErrors.ts"

const saysOf = (reason: SqlError.SqlError["reason"], host = "localhost:5432"): string =>
  PgErrors.explain({ host, database: "d", user: "u" })(new SqlError.SqlError({ reason })).message

const coded = (code: string, message = "it says so") => Object.assign(new Error(message), { code })

const ofCode = (code: string, host?: string): string => saysOf(new SqlError.UnknownError({ cause: coded(code) }), host)

it("a message of several lines is reported on one", () => {
  const cause = coded("23505", "duplicate key\n  DETAIL: it is there")
  assert.include(saysOf(new SqlError.UnknownError({ cause })), "(duplicate key DETAIL: it is there)")
})

describe("an error says what to do", () => {
  it.each([
    ["ECONNREFUSED", "Start it, or check host and port in the URL."],
    ["ENOTFOUND", "Check its name in the URL."],
    ["ETIMEDOUT", "Check the network, then try again."],
    ["ECONNRESET", "Check that it runs, then try again."],
    ["28P01", "Check it."],
    ["28000", "Allow it in the pg_hba.conf of the server, or change the user or sslmode in the URL."],
    ["3D000", "Create it first."],
    ["42501", "Grant the permission."],
    [
      "25006",
      "Connect to the primary server; if this is it, somebody has set default_transaction_read_only for the database or for " +
      "the user \"u\"."
    ],
    ["3F000", "Create one that is in the search_path of this user, and let this user use it."],
    ["57014", "If that happens again, look at the statement_timeout of the user \"u\"."],
    ["57P01", "Try again once it runs."],
    ["57P03", "Try again once it runs."],
    ["53100", "Make room, then try again."],
    ["53300", "Lower maxConnections, or raise the max_connections of the server."],
    ["25P02", "set pooled: true, or ?pgbouncer=true in the URL."],
    ["XX001", "Restore a backup."],
    [
      "42P01",
      "If a newer fiberloop changed them, update this one; else restore a backup of them, or name another database for sessions."
    ],
    ["22P05", "Use a database with the encoding UTF8, which holds every text."],
    ["54000", "Keep large data elsewhere, and a reference to it here."],
    ["23502", "Look for changes that others made to its tables, or restore a backup."],
    ["08006", "Check that it runs, then try again."],
    ["55000", "Try again later."],
    ["", "Look into the log of the server, then try again."]
  ])("with the code %s", (code, advice) => assert.isTrue(ofCode(code).endsWith(advice), ofCode(code)))

  it("of a socket's folder, where no server runs", () => {
    assert.strictEqual(
      ofCode("ENOENT", "/run/postgresql"),
      "No Postgres has its socket in the folder /run/postgresql. Start it, or name another folder, or a host, in the URL."
    )
  })

  it.each<readonly [string, SqlError.SqlError["reason"], string]>([
    [
      "without a connection",
      new SqlError.ConnectionError({ cause: coded("", "closed") }),
      "Check that it runs and can be reached, then try again."
    ],
    [
      "without a connection in time",
      new SqlError.ConnectionError({ cause: coded("", "Connection timed out") }),
      "could not be made (not within the time that the option connectTimeout sets). Check that it runs and can be reached, " +
      "then try again."
    ],
    [
      "without a common encryption",
      new SqlError.ConnectionError({ cause: coded("", "no SSL here") }),
      "Check sslmode in its URL."
    ],
    [
      "without a password",
      new SqlError.AuthenticationError({ cause: coded("") }),
      "Put the password into the URL, or into PGPASSWORD."
    ],
    [
      "that nobody knows",
      new SqlError.SqlSyntaxError({ cause: coded("") }),
      "Check its URL, and the log of the server."
    ]
  ])("%s", (_, reason, advice) => assert.isTrue(saysOf(reason).endsWith(advice), saysOf(reason)))
})
