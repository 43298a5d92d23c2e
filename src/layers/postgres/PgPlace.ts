/** The database that a Postgres URL names, in words that may be shown: without its password. */
import * as Redacted from "effect/Redacted"

export interface Place {
  /** `localhost:5432`, or the folder of a socket */
  readonly host: string
  readonly database: string
  readonly user: string
}

/** `undefined` where it is not a URL of Postgres. Host and the rest may also be in the query, as libpq allows. */
export const ofUrl = (url: Redacted.Redacted): Place | undefined => {
  const parsed = URL.canParse(Redacted.value(url)) ? new URL(Redacted.value(url)) : undefined
  if (parsed?.protocol !== "postgres:" && parsed?.protocol !== "postgresql:") return undefined
  if (isCutInPassword(parsed)) return undefined
  const query = (name: string) => parsed.searchParams.get(name) ?? undefined
  try {
    const user = query("user") ?? (decodeURIComponent(parsed.username) || (process.env["USER"] ?? ""))
    const host = query("host") ?? (decodeURIComponent(parsed.hostname) || "localhost")
    const port = query("port") ?? (parsed.port || "5432")
    return {
      host: host.startsWith("/") ? host : `${host}:${port}`,
      database: query("dbname") ?? (decodeURIComponent(parsed.pathname.slice(1)) || user),
      user
    }
  } catch {
    return undefined
  }
}

/**
 * An unencoded password such as `12/34` ends the URL's host early, at `me:12`, and the rest of it, up to the "@" meant to
 * follow it, would be shown.
 */
const isCutInPassword = ({ hash, pathname, searchParams, username }: URL): boolean =>
  username === "" && [pathname, hash, ...searchParams.keys()].some((part) => part.includes("@"))

/**
 * What a URL that `ofUrl` accepts says of its server, for spans: a client's spans name only what it is given apart from its URL.
 * An invalid port is left for the client to refuse.
 */
export const ofServer = (
  url: Redacted.Redacted,
  { database, host }: Place
): { readonly host: string; readonly port?: number; readonly database?: string } => {
  const { port: ofAuthority, searchParams } = new URL(Redacted.value(url))
  const port = Number(searchParams.get("port") ?? (ofAuthority || "5432"))
  return {
    host: host.startsWith("/") ? host : host.replace(/:[^:]*$/, "").replace(/^\[(.*)\]$/, "$1"),
    ...(Number.isInteger(port) ? { port } : {}),
    ...(database === "" ? {} : { database })
  }
}

/** Whether a text is meant as a URL of Postgres. */
export const isUrl = (text: string): boolean => /^postgres(ql)?:/i.test(text)

/** The URL without its passwords: `postgres://user@localhost:5432/app` */
export const shown = (url: string): string => {
  if (ofUrl(Redacted.make(url)) === undefined) return "postgres://..."
  const parsed = new URL(url)
  parsed.password = ""
  for (const name of ["password", "sslpassword"]) parsed.searchParams.delete(name)
  return parsed.href
}

/** Whether it says `pgbouncer=true`, as URLs of databases behind a pooler in transaction mode do. */
export const isPooled = (url: string): boolean =>
  URL.canParse(url) && new URL(url).searchParams.get("pgbouncer") === "true"

export const hasPassword = (url: string): boolean =>
  URL.canParse(url) && (new URL(url).password !== "" || new URL(url).searchParams.has("password"))
