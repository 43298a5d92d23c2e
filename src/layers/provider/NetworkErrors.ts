/**
 * A request that got no response, or whose response broke off, as an `AiError` that says what to check. It is recognised by
 * the code of the connection's error.
 *
 * Does not own responses that say what went wrong (`AdapterErrors`).
 */
import * as AiError from "effect/ai/AiError"
import type * as HttpClientError from "effect/http/HttpClientError"
import * as AdapterErrors from "./AdapterErrors.ts"
import type { Origin } from "./Origin.ts"

const closed = "try again later; if that does not help, check the port of the base URL and any proxies in between"

/** By code, or by the name of an error without one. */
const networkWords: ReadonlyArray<readonly [codes: RegExp, words: string]> = [
  [/^ECONNREFUSED$/, "refused the connection; check that the server runs and that the base URL names its port"],
  [/^ENOTFOUND$/, "was not found; check the base URL"],
  [/^EAI_AGAIN$/, "could not be looked up; check the base URL and the network's DNS server"],
  [/^ECONNRESET$|^EPIPE$/, `reset the connection; ${closed}`],
  [/^UND_ERR_SOCKET$/, `closed the connection; ${closed}`],
  [
    /TIMEDOUT$|TIMEOUT$/,
    "did not answer in time; try again later; if that does not help, check the base URL and the network"
  ],
  [/^HPE_|^HTTPParserError$/, "does not speak HTTP; check that the base URL names the right port"],
  [/^ERR_SSL_|^EPROTO$/, "does not speak TLS; check whether the base URL begins with http: or https:"],
  [/^redirect count exceeded$/, "redirects in a loop; check the base URL"],
  [
    /^bad port$/,
    "has a port that fetch refuses to call; check the base URL, or have the server listen on another port"
  ],
  [
    /CERT|SIGNATURE/,
    "has a certificate that is not trusted here; check the base URL, or name its issuer in NODE_EXTRA_CA_CERTS"
  ]
]

const unknownNetwork =
  "could not be reached, or the connection broke; try again later; if that does not help, check the base URL and the network"

/** What `fetch` refuses without a code: a port that the Fetch standard blocks, endless redirects. */
const refusals: ReadonlySet<string> = new Set(["bad port", "redirect count exceeded"])

/** The code of an error or of one of its causes, such as `ECONNREFUSED`; else the message, where that is all there is. */
export const codeOf = (error: unknown, depth = 5): string | undefined => {
  if (typeof error !== "object" || error === null || depth === 0) return undefined
  if ("code" in error && typeof error.code === "string") return error.code
  if ("name" in error && error.name === "HTTPParserError") return error.name
  if ("message" in error && refusals.has(String(error.message))) return String(error.message)
  return "cause" in error ? codeOf(error.cause, depth - 1) : undefined
}

/** A request that got no response, or whose response broke off; `cause` is not kept. */
export const unreachable = (
  origin: Origin,
  cause: unknown,
  reason: "EncodeError" | "InvalidUrlError" | "TransportError" = "TransportError"
): AiError.AiError => {
  const code = codeOf(cause)
  const words = networkWords.find(([codes]) => code !== undefined && codes.test(code))?.[1] ?? unknownNetwork
  return AdapterErrors.make(
    origin,
    new AiError.NetworkError({
      reason: refusals.has(code ?? "") ? "InvalidUrlError" : reason,
      method: "POST",
      url: origin.url,
      description: `${origin.host} ${words}${code === undefined ? "" : ` (${code})`}`
    })
  )
}

/** Why effect's client got no answer; its own error is not kept, since it holds the prompt. */
export const fromHttpClient = (origin: Origin, error: HttpClientError.HttpClientError): AiError.AiError => {
  const { _tag } = error.reason
  return unreachable(origin, error, _tag === "EncodeError" || _tag === "InvalidUrlError" ? _tag : "TransportError")
}
