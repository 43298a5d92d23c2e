/**
 * The span of one HTTP request, by the OpenTelemetry semantic conventions for HTTP clients: from sending it to the head of
 * its response. It has the address without its query, and only the tag of an error: a client's own span would end with an
 * error that holds the request, its headers and its body.
 */
import * as Effect from "effect/Effect"
import type * as HttpClientError from "effect/http/HttpClientError"
import type * as HttpClientResponse from "effect/http/HttpClientResponse"
import * as Result from "effect/Result"
import type { Origin } from "../provider/Origin.ts"
import * as QuietEnd from "../provider/QuietEnd.ts"

type Response = HttpClientResponse.HttpClientResponse

export const around = <R>(
  { url }: Pick<Origin, "url">,
  send: Effect.Effect<Response, HttpClientError.HttpClientError, R>
): Effect.Effect<Response, HttpClientError.HttpClientError, R> =>
  Effect.suspend(() => {
    const { hostname, port, protocol } = new URL(url)
    let sent: Result.Result<Response, HttpClientError.HttpClientError> | undefined
    const attributes = {
      "http.request.method": "POST",
      "server.address": hostname,
      "server.port": Number(port || (protocol === "https:" ? 443 : 80)),
      "url.full": url
    }
    const spanned = Effect.useSpan("POST", { kind: "client", attributes }, (span) =>
      Effect.flatMap(Effect.result(send), (result) => {
        sent = result
        if (Result.isSuccess(result)) {
          span.attribute("http.response.status_code", result.success.status)
        }
        const error = Result.isFailure(result)
          ? result.failure.reason._tag
          : result.success.status >= 400
          ? `${result.success.status}`
          : undefined
        if (error === undefined) {
          return Effect.void
        }
        span.attribute("error.type", error)
        return Effect.fail(new QuietEnd.Failure(error))
      }))
    return Effect.flatMap(Effect.ignore(spanned), () =>
      Effect.fromResult(sent!))
  })
