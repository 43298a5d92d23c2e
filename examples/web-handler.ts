/**
 * The routes of `http-server.ts` as a function from `Request` to `Response`, as Hono, Next.js and SvelteKit expect: the code around
 * it needs no effect. `Live` needs Node, for its SQLite. A client that leaves a response, or aborts its request, aborts the run. The
 * handler answers every caller, about every session, and reads bodies of any size: the server around it decides who may call and how
 * much. It lives as long as the process: on a host that freezes a function between requests, no run goes on. Set HOSTS to the names
 * of your server: `http-guard.ts` refuses others.
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

/** Builds layers at once; if that fails, every request rejects with the reason. `dispose` aborts live runs and closes the layers. */
export const makeHandler = <E>(world: Layer.Layer<Model | SessionStore, E>) =>
  HttpRouter.toWebHandler(
    Routes.pipe(
      Layer.provide(Layer.provide(Assistant.layer, Fiberloop.layer)),
      Layer.provide([world, HttpServer.layerServices])
    ),
    { disableLogger: true, routerConfig }
  )
