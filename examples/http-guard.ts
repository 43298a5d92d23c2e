/**
 * Keeps the pages of other sites from using a server through the browser of somebody who reaches it, be it on loopback or with
 * cookies: a browser lets any page send what a form could, and a name may lead anywhere. All servers among these examples have it
 * with their routes. Does not decide who may call, nor which session is theirs.
 */
import { Effect } from "effect"
import { HttpMethod, HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { isIP } from "node:net"

/** The names that the server is reached by, beside `localhost`, separated by commas. */
const told = () => (process.env.HOSTS ?? "").split(",")

/**
 * Refuses requests for a host by a name that is not one of `names`, and those that may change something if they come from a page
 * of another host, or have a body that is not `application/json`, which no page sends to another site without asking first.
 */
export const guard = (names: ReadonlyArray<string> = told()) =>
  HttpRouter.middleware(
    (route) =>
      Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
        const refused = refusal(request, names)
        return refused === undefined ? route : Effect.succeed(refused)
      }),
    { global: true }
  )

const refusal = (request: HttpServerRequest.HttpServerRequest, names: ReadonlyArray<string>) => {
  const { headers: { "content-type": type = "", host, origin }, method, originalUrl } = request
  // over HTTP/2 it is the address that has the host
  const asked = parse(host === undefined ? originalUrl : `http://${host}`)
  if (asked === undefined || !isOurs(asked.hostname, names)) return refuse(421, "set HOSTS to the names of this server")
  if (!HttpMethod.hasBody(method)) return undefined
  if (origin !== undefined && parse(origin)?.host !== asked.host) {
    return refuse(403, "a page of another site may not do this")
  }
  // a page of another site is asked about before it may send this
  if (method === "DELETE" || /^application\/json\s*(;|$)/i.test(type)) return undefined
  return refuse(415, "the content type has to be application/json")
}

/** An address is nobody's name: only of a name can another site say where it leads. */
const isOurs = (hostname: string, names: ReadonlyArray<string>) =>
  hostname === "localhost" || isIP(hostname.replace(/^\[|\]$/g, "")) > 0 || names.includes(hostname)

const parse = (url: string) => URL.canParse(url) ? new URL(url) : undefined

const refuse = (status: number, message: string) =>
  HttpServerResponse.jsonUnsafe({ error: "Refused", message, isRetryable: false }, { status })
