/**
 * The routes of `http-server.ts` as a function from `Request` to `Response`, as Hono, Next.js, SvelteKit, Bun and Deno want one:
 * nothing around it knows effect. Whoever leaves a response, or aborts its request, aborts the run. It answers whoever calls it,
 * about every session, and reads bodies of any size: who may, and how much, is for the server around it to say. It lives as long
 * as the process: a host that freezes a function between requests lets no run go on.
 *
 * `npm run build`, set OPENAI_API_KEY or OPENAI_BASE_URL, then in a module of a server
 * `import { makeHandler } from "./web-handler.ts"` and, for Hono, `app.mount("/", makeHandler(Live).handler)`.
 */
import { Layer } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { Fiberloop, type Model, ModelOpenAi, type SessionStore, SessionStoreSqlite } from "fiberloop"
import { Assistant, routerConfig, Routes } from "./http-server.ts"

/** What differs between production and a test. */
export const Live = Layer.mergeAll(
  SessionStoreSqlite.layer({ filename: "web-handler.db" }),
  ModelOpenAi.layer({ model: process.env.FIBERLOOP_MODEL ?? "gpt-5.5" })
)

/** Layers are built at once; where that fails, every request rejects with why. `dispose` aborts what runs and closes them. */
export const makeHandler = <E>(world: Layer.Layer<Model | SessionStore, E>) =>
  HttpRouter.toWebHandler(
    Routes.pipe(
      Layer.provide(Layer.provide(Assistant.layer, Fiberloop.layer)),
      Layer.provide([world, HttpServer.layerServices])
    ),
    { disableLogger: true, routerConfig }
  )
