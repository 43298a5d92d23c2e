/** `http-server.ts` on a loopback socket with a scripted model, and a client for it, for the tests to share. */
import { NodeHttpClient, NodeHttpServer } from "@effect/platform-node"
import { Layer } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { Fiberloop, SessionStoreMemory } from "fiberloop"
import { ScriptedModel } from "fiberloop/testing"
import { createServer } from "node:http"
import { Assistant, routerConfig, Routes } from "./http-server.ts"

// the client's connections close with it, so that the server need not wait for them
const Loopback = HttpServer.layerTestClient.pipe(
  Layer.provide(NodeHttpClient.layerUndici),
  Layer.provideMerge(NodeHttpServer.layer(createServer, { port: 0 }))
)

export const serving = (...turns: ReadonlyArray<ScriptedModel.Turn>) =>
  HttpRouter.serve(Routes, { disableLogger: true, disableListenLog: true, routerConfig }).pipe(
    Layer.provideMerge(Layer.provide(Assistant.layer, Fiberloop.layer)),
    Layer.provideMerge([SessionStoreMemory.layer, ScriptedModel.layer(turns), Loopback])
  )
