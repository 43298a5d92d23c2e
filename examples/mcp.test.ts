import { NodeHttpClient, NodeHttpServer } from "@effect/platform-node"
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Schema, Stream } from "effect"
import { McpProtocol, McpServer, Tool, Toolkit } from "effect/ai"
import { HttpRouter, HttpServer } from "effect/http"
import { Fiberloop, type RunEvent, SessionStore, SessionStoreMemory } from "fiberloop"
import { ScriptedModel } from "fiberloop/testing"
import { createServer } from "node:http"
import { connection, makeGuide } from "./mcp.ts"

const Docs = Toolkit.make(
  Tool.make("search", { parameters: Schema.Struct({ words: Schema.String }), success: Schema.String }),
  Tool.make("publish", { parameters: Schema.Struct({ page: Schema.String }), success: Schema.String })
)

/** A real server on loopback. */
const Server = HttpRouter.serve(
  McpServer.layerHttp({
    name: "docs",
    version: "1.0.0",
    path: "/mcp",
    protocols: [McpProtocol.v2025_11_25],
    registrations: McpServer.toolkit(Docs).pipe(Layer.provide(Docs.toLayer({
      search: ({ words }) => Effect.succeed(`Nothing about ${words}.`),
      publish: () => Effect.die(new Error("nobody allowed it"))
    })))
  }),
  { disableLogger: true, disableListenLog: true }
).pipe(Layer.provideMerge(NodeHttpServer.layer(createServer, { port: 0 })))

const Connection = Layer.unwrap(HttpServer.addressFormattedWith((url) => Effect.succeed(connection(`${url}/mcp`))))
  .pipe(
    Layer.provide([Server, NodeHttpClient.layerUndici])
  )

const Test = (...turns: ReadonlyArray<ScriptedModel.Turn>) =>
  Layer.mergeAll(Fiberloop.layer, SessionStoreMemory.layer, ScriptedModel.layer(turns), Connection)

it.effect("a server's tool is called like any other", () =>
  Effect.gen(function*() {
    const guide = yield* makeGuide(["docs_search"])
    assert.strictEqual((yield* guide.run({ sessionId: "s", input: "Lamps?" })).text, "There is nothing.")
    const [first, second] = yield* (yield* ScriptedModel.Script).requests
    assert.deepStrictEqual(first?.tools.map((tool) => tool.name), ["docs_search", "docs_publish"])
    const [result] = second?.messages.at(-1)?.content ?? []
    assert.deepStrictEqual(
      result,
      { type: "tool-result", id: "c00000300", name: "docs_search", result: "Nothing about lamps.", isFailure: false }
    )
  }).pipe(Effect.provide(Test(
    ScriptedModel.call("docs_search", { words: "lamps" }),
    ScriptedModel.text("There is nothing.")
  ))))

it.effect("a tool that nobody vouches for waits for a person", () =>
  Effect.gen(function*() {
    const guide = yield* makeGuide(["docs_search"])
    const result = yield* guide.run({ sessionId: "s", input: "Publish page 7." })
    assert.deepStrictEqual(
      result._tag === "Suspended" ? result.approvals.map(({ params, tool }) => [tool, params]) : result.explain,
      [["docs_publish", { page: "7" }]]
    )
    const log = yield* Stream.runCollect((yield* SessionStore).read("s"))
    assert.deepStrictEqual(log.filter((event: RunEvent.Durable) => event._tag === "ToolStarted"), [])
  }).pipe(Effect.provide(Test(ScriptedModel.call("docs_publish", { page: "7" })))))
