/**
 * What the errors of Postgres mean to the user of a store: one line that names the server and the database, never the
 * password, and what to check. A fault that may pass by itself can be tried again; any other is refused.
 */
import type * as SqlError from "effect/sql/SqlError"
import type * as SessionStore from "../../services/SessionStore.ts"
import * as SessionErrors from "../store/SessionErrors.ts"
import type { Place } from "./PgPlace.ts"

export const explain = (place: Place) => (error: SqlError.SqlError): SessionStore.StoreError => {
  const { cause, message, _tag } = error.reason
  const said = saidBy(cause) ?? message
  const code = codeOf(cause)
  const database = `The session database "${place.database}" on ${place.host}`
  const bySystem = code === undefined ? undefined : systemFault(code, place)
  if (bySystem !== undefined) return bySystem
  const byState = code === undefined ? undefined : stateFault(code, database, place, said)
  if (byState !== undefined) return byState
  switch (_tag) {
    case "ConnectionError":
      return urlFault(said) ?? (/certificate|SSL|TLS/i.test(said)
        ? SessionErrors.refused(
          `${database} and this program could not agree on encryption (${said}). Check sslmode in its URL.`
        )
        : SessionErrors.unavailable(
          `The connection to ${lower(database)} was lost or could not be made (${limited(said)}). ` +
            "Check that it runs and can be reached, then try again."
        ))
    case "AuthenticationError":
      return SessionErrors.refused(
        `Postgres on ${place.host} does not let the user "${place.user}" in (${said}). ` +
          "Put the password into the URL, or into PGPASSWORD."
      )
    case "UnknownError":
      return SessionErrors.unavailable(`${database} failed (${said}). Look into the log of the server, then try again.`)
    default:
      return SessionErrors.refused(`${database} cannot be used (${said}). Check its URL, and the log of the server.`)
  }
}

/** By what the client says of a URL with which it does not even try to connect. */
const urlFault = (said: string): SessionStore.StoreError | undefined => {
  if (said === "No username configured") {
    return SessionErrors.refused(
      "The URL of the session database names no user, and neither does USER in the environment: write " +
        "postgres://user@host:5432/database."
    )
  }
  return /^(Invalid|Unrecognized) .* in URL|^Startup parameter .* must not contain NUL$/.test(said)
    ? SessionErrors.refused(`The URL of the session database cannot be used (${said}). Correct it.`)
    : undefined
}

/** By the code of a system call, see errno(3), or of Node's resolver. */
const systemFault = (code: string, { host }: Place): SessionStore.StoreError | undefined => {
  switch (code) {
    case "ECONNREFUSED":
      return SessionErrors.unavailable(`No Postgres answers on ${host}. Start it, or check host and port in the URL.`)
    case "ENOENT":
      return SessionErrors.unavailable(
        `No Postgres has its socket in the folder ${host}. Start it, or name another folder, or a host, in the URL.`
      )
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return SessionErrors.unavailable(
        `The host of the session database, ${host}, was not found. Check its name in the URL.`
      )
    case "EHOSTUNREACH":
    case "ENETUNREACH":
    case "ETIMEDOUT":
      return SessionErrors.unavailable(
        `The session database on ${host} cannot be reached (${code}). Check the network, then try again.`
      )
    case "ECONNRESET":
    case "EPIPE":
      return SessionErrors.unavailable(
        `The connection to the session database on ${host} was lost (${code}). Check that it runs, then try again.`
      )
    default:
      return undefined
  }
}

/** By the SQLSTATE, see postgresql.org/docs/current/errcodes-appendix.html. */
const stateFault = (
  code: string,
  database: string,
  { database: name, host, user }: Place,
  said: string
): SessionStore.StoreError | undefined => {
  switch (code) {
    case "28P01":
      return SessionErrors.refused(`Postgres on ${host} refuses the password of the user "${user}". Check it.`)
    case "28000":
      return SessionErrors.refused(
        `Postgres on ${host} does not let the user "${user}" in (${said}). Allow it in the pg_hba.conf of the server, or ` +
          "change the user or sslmode in the URL."
      )
    case "3D000":
      return SessionErrors.refused(`There is no database "${name}" on ${host}. Create it first.`)
    case "42501":
      return SessionErrors.refused(
        `${database} does not allow the user "${user}" to do this (${said}). Grant the permission.`
      )
    case "25006":
      return SessionErrors.refused(
        `${database} is read-only (${said}). Connect to the primary server; if this is it, somebody has set ` +
          `default_transaction_read_only for the database or for the user "${user}".`
      )
    case "3F000":
      return SessionErrors.refused(
        `${database} has no schema in which the user "${user}" may make the tables of sessions (${said}). Create one that is ` +
          "in the search_path of this user, and let this user use it."
      )
    case "57014":
      return SessionErrors.unavailable(
        `${database} stopped what it was to do (${said}). If that happens again, look at the statement_timeout of the user ` +
          `"${user}".`
      )
    case "55P03":
      return SessionErrors.unavailable(
        `${database} has tables that others keep locked (${said}), such as a backup or a transaction that was left open. Try ` +
          "again once that has ended."
      )
    case "57P01":
    case "57P02":
    case "57P05":
      return SessionErrors.unavailable(`${database} closed the connection (${said}). Try again once it runs.`)
    case "57P03":
      return SessionErrors.unavailable(`${database} is starting or stopping (${said}). Try again once it runs.`)
    case "53100":
      return SessionErrors.unavailable(`${database} could not grow: its disk is full. Make room, then try again.`)
    case "53300":
      return SessionErrors.unavailable(
        `${database} has no connections left (${said}). Lower maxConnections, or raise the max_connections of the server.`
      )
    // the last is a client's second try of an unprepared statement, in the transaction that the first failure had ended
    case "26000":
    case "42P05":
    case "25P02":
      return SessionErrors.refused(
        `${database} lost a prepared statement of its connection (${said}). With a pooler that lends connections for one ` +
          "transaction each, set pooled: true, or ?pgbouncer=true in the URL."
      )
    case "XX001":
    case "XX002":
      return SessionErrors.refused(`${database} is damaged (${said}); it was left as it is. Restore a backup.`)
    case "42P01":
    case "42P07":
    case "42703":
      return SessionErrors.refused(
        `${database} does not have the tables that this version needs (${said}). If a newer fiberloop changed them, update ` +
          "this one; else restore a backup of them, or name another database for sessions."
      )
  }
  switch (code.slice(0, 2)) {
    case "22":
      return SessionErrors.refused(
        `${database} cannot store this (${said}). Use a database with the encoding UTF8, which holds every text.`
      )
    case "54":
      return SessionErrors.refused(
        `${database} cannot store this (${said}). Keep large data elsewhere, and a reference to it here.`
      )
    case "23":
      return SessionErrors.refused(
        `${database} refused a write that does not fit what it holds (${said}). Look for changes that others made to its ` +
          "tables, or restore a backup."
      )
    case "08":
      return SessionErrors.unavailable(
        `The connection to ${lower(database)} was lost (${said}). Check that it runs, then try again.`
      )
    case "40":
    case "53":
    case "55":
    case "57":
    case "58":
      return SessionErrors.unavailable(`${database} could not do this now (${said}). Try again later.`)
    default:
      return undefined
  }
}

/** Names the option that sets the limit of which the client says no more than that it is over. */
const limited = (said: string): string =>
  said === "Connection timed out" ? "not within the time that the option connectTimeout sets" : said

const lower = (sentence: string): string => sentence.replace(/^T/, "t")

/** On one line: what a server says may hold more. */
const saidBy = (cause: unknown): string | undefined =>
  cause instanceof Error && cause.message !== "" ? cause.message.replace(/\s+/g, " ") : undefined

/** A SQLSTATE, or the code of a system call. For several addresses of a host, the first one's. */
const codeOf = (cause: unknown): string | undefined => {
  if (cause instanceof AggregateError && cause.errors.length > 0) return codeOf(cause.errors[0])
  return cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : undefined
}
