import { NodeHttpServer } from "@effect/platform-node"
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServer, HttpServerResponse } from "effect/http"
import { Fiberloop, SessionStore, SessionStoreMemory } from "fiberloop"
import { ScriptedModel } from "fiberloop/testing"
import { createServer, request } from "node:http"
import { guard } from "./http-guard.ts"
import { serving } from "./http-loopback.ts"
import * as RemoteTools from "./remote-tools.ts"
import * as UseChat from "./use-chat.ts"

// Real sockets take real time, so these tests use `it.live`.

const Socket = NodeHttpServer.layer(createServer, { port: 0, gracefulShutdownTimeout: 0 })
const silent = { disableLogger: true, disableListenLog: true }

const servers = {
  "http-server.ts": serving(ScriptedModel.text("Once.")),
  "use-chat.ts": HttpRouter.serve(UseChat.Routes, silent).pipe(
    Layer.provide(Layer.provide(UseChat.Assistant.layer, [Fiberloop.layer, UseChat.ToolsLive])),
    Layer.provideMerge([SessionStoreMemory.layer, ScriptedModel.layer([ScriptedModel.text("Once.")]), Socket])
  ),
  "remote-tools.ts": HttpRouter.serve(RemoteTools.Routes, silent).pipe(
    Layer.provide(RemoteTools.ShopLive),
    Layer.provideMerge([SessionStoreMemory.layer, Socket])
  )
}

/** What each takes from a client of its own. */
const asked = {
  "http-server.ts": { path: "/sessions/one/answer", body: { text: "A story" } },
  "use-chat.ts": {
    path: "/api/chat",
    body: { id: "one", messages: [{ id: "m1", role: "user", parts: [{ type: "text", text: "A story" }] }] }
  },
  "remote-tools.ts": {
    path: "/calls",
    body: {
      name: "get_stock",
      params: { item: "red kettle" },
      timeout: 1000,
      identity: { sessionId: "one", runId: "run", callId: "1.0", idempotencyKey: "key", attempt: 1, data: null }
    }
  }
}

interface Sent {
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

/** The status of a response to headers that `fetch` would not send; `PORT` in one is the server's. */
const send = Effect.fnUntraced(function*({ body, headers = {}, method = "POST", path }: Sent) {
  const { address } = yield* HttpServer.HttpServer
  const port = address._tag === "UnixPathAddress" ? 0 : address.port
  const said = Object.entries(headers).map(([name, value]) => [name, value.replace("PORT", String(port))])
  return yield* Effect.callback<number | undefined>((resume) => {
    const sent = request({ host: "127.0.0.1", port, method, path, headers: Object.fromEntries(said) }, (response) => {
      response.resume().once("end", () => resume(Effect.succeed(response.statusCode)))
    })
    sent.once("error", (error) => resume(Effect.die(error)))
    sent.end(body === undefined ? undefined : JSON.stringify(body))
  })
})

const json = { "content-type": "application/json" }
const evil = { origin: "https://evil.example" }

it.live.each(["http-server.ts", "use-chat.ts", "remote-tools.ts"] as const)(
  "a page of another site starts nothing in %s, and a client of its own does",
  (name) =>
    Effect.gen(function*() {
      const plain = { "content-type": "text/plain;charset=UTF-8" }
      assert.deepStrictEqual(
        yield* Effect.forEach([
          { ...plain, ...evil },
          plain,
          {},
          { ...json, ...evil },
          { ...json, origin: "null" },
          { ...json, host: "evil.example:PORT", origin: "http://evil.example:PORT" }
        ], (headers) => send({ ...asked[name], headers })),
        [403, 415, 415, 403, 403, 421]
      )
      assert.isUndefined(yield* (yield* SessionStore).info("one"))
      assert.strictEqual(yield* send({ ...asked[name], headers: json }), 200)
    }).pipe(Effect.provide(servers[name]))
)

/** A server with a route that reads, one that changes something and one that takes something back. */
const guarded = (names?: ReadonlyArray<string>) => {
  const ok = HttpServerResponse.text("ok")
  const Routes = HttpRouter.use((router) =>
    Effect.all([router.add("GET", "/", ok), router.add("POST", "/", ok), router.add("DELETE", "/", ok)])
  )
  return HttpRouter.serve(Layer.merge(Routes, guard(names)), silent).pipe(Layer.provideMerge(Socket))
}

it.live("a page that comes from the server itself is served, under each name of this machine", () =>
  Effect.gen(function*() {
    for (const host of ["localhost:PORT", "127.0.0.1:PORT", "[::1]:PORT", "192.168.1.7:PORT", "localhost"]) {
      const headers = { ...json, host, origin: `http://${host}` }
      assert.strictEqual(yield* send({ path: "/", headers }), 200, host)
    }
    const charset = { "content-type": "Application/JSON; charset=utf-8" }
    assert.strictEqual(yield* send({ path: "/", headers: charset }), 200)
  }).pipe(Effect.provide(guarded())))

it.live("a page of another server on the same machine is another site", () =>
  Effect.gen(function*() {
    const headers = { ...json, host: "localhost:PORT", origin: "http://localhost:1" }
    assert.strictEqual(yield* send({ path: "/", headers }), 403)
  }).pipe(Effect.provide(guarded())))

it.live("what has no body, to stop a run, needs no content type, but is refused to another site", () =>
  Effect.gen(function*() {
    assert.strictEqual(yield* send({ method: "DELETE", path: "/" }), 200)
    assert.strictEqual(yield* send({ method: "DELETE", path: "/", headers: evil }), 403)
  }).pipe(Effect.provide(guarded())))

it.live("a name that the server was not told of reads nothing either", () =>
  Effect.gen(function*() {
    const get = (host: string) => send({ method: "GET", path: "/", headers: { host } })
    assert.deepStrictEqual(
      yield* Effect.forEach(
        ["chat.example", "chat.example:8080", "evil.example", "localhost.evil.example", "a b"],
        get
      ),
      [200, 200, 421, 421, 421]
    )
  }).pipe(Effect.provide(guarded(["chat.example"]))))
