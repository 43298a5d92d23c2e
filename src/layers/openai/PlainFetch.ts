/**
 * The platform's `fetch` as the HTTP client of models, without redirects: by itself `fetch` follows them, with another method
 * and many times. Does not own what a redirect means (`StatusError`).
 */
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

/** A fresh layer: the application's, which may be built first, has settings of its own. */
export const layer: Layer.Layer<HttpClient.HttpClient> = Layer.provide(Layer.fresh(FetchHttpClient.layer), settings)
