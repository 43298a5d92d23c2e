/** The platform's `fetch` as the HTTP client. By itself it follows redirects, as another method and many times: not here. */
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import type * as HttpClient from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"

const settings: Layer.Layer<FetchHttpClient.RequestInit> = Layer.effect(
  FetchHttpClient.RequestInit,
  Effect.map(Effect.serviceOption(FetchHttpClient.RequestInit), (given): RequestInit => ({
    ...Option.getOrUndefined(given),
    redirect: "manual"
  }))
)

export const layer: Layer.Layer<HttpClient.HttpClient> = Layer.provide(FetchHttpClient.layer, settings)
