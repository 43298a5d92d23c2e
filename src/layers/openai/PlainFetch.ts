/**
 * The platform's `fetch` as the HTTP client of models. By itself `fetch` follows redirects, with another method and many times, and Node's
 * gives up after five minutes of silence; here it does neither. Does not own what a redirect means (`StatusError`), nor time limits
 * (`Timeouts`).
 */
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import type * as HttpClient from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"

/** What carries out the requests of Node's `fetch`, and what an application may replace. */
interface Dispatcher {
  readonly dispatch: (options: object, handler: unknown) => boolean
  /** whether `fetch` is to hand it bodies as they were given: undici's `MockAgent` compares them */
  readonly isMockActive?: boolean | undefined
}

const current = (): Dispatcher | undefined =>
  (globalThis as { readonly [key: symbol]: Dispatcher | undefined })[Symbol.for("undici.globalDispatcher.1")]

/** The current dispatcher without its limits, which a request may lift for itself; nothing where `fetch` is not Node's. */
const patient = (): RequestInit => {
  // it is there once something of `fetch` was used
  void new Request("data:,")
  if (current() === undefined) return {}
  const dispatcher: Dispatcher = {
    dispatch: (options, handler) => current()!.dispatch({ ...options, headersTimeout: 0, bodyTimeout: 0 }, handler),
    get isMockActive() {
      return current()?.isMockActive
    }
  }
  return { dispatcher } as unknown as RequestInit
}

const settings: Layer.Layer<FetchHttpClient.RequestInit> = Layer.effect(
  FetchHttpClient.RequestInit,
  Effect.map(Effect.serviceOption(FetchHttpClient.RequestInit), (given): RequestInit => ({
    ...patient(),
    ...Option.getOrUndefined(given),
    redirect: "manual"
  }))
)

/** A fresh layer: the application's, which may be built first, has settings of its own. */
export const layer: Layer.Layer<HttpClient.HttpClient> = Layer.provide(Layer.fresh(FetchHttpClient.layer), settings)
