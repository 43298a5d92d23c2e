import { NodeHttpClient, NodeHttpServer } from "@effect/platform-node"
import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Layer, Logger } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { Fiberloop, SessionStoreMemory } from "fiberloop"
import { ScriptedModel } from "fiberloop/testing"
import { createServer } from "node:http"
import { Clerk, executor, Routes, Shop } from "./remote-tools.ts"

/** The agent, with a worker on loopback, or with nothing where the worker should be. */
const clerk = (executing: ReturnType<typeof executor>, turns: ReadonlyArray<ScriptedModel.Turn>) =>
  Clerk.layer.pipe(
    Layer.provide(executing.pipe(Layer.provide(NodeHttpClient.layerUndici))),
    Layer.provideMerge([Fiberloop.layer, SessionStoreMemory.layer, ScriptedModel.layer(turns)])
  )

const withWorker = (get_stock: () => Effect.Effect<number>, turns: ReadonlyArray<ScriptedModel.Turn>) =>
  Layer.unwrap(HttpServer.addressFormattedWith((url) => Effect.succeed(clerk(executor(url), turns)))).pipe(
    Layer.provide(
      HttpRouter.serve(Routes, { disableLogger: true, disableListenLog: true }).pipe(
        Layer.provide(Shop.toLayer({ get_stock })),
        Layer.provideMerge(NodeHttpServer.layer(createServer, { port: 0 }))
      )
    )
  )

const stock = ScriptedModel.call("get_stock", { item: "red kettle" })

/** The result that the model last read for its call. */
const read = Effect.gen(function*() {
  const requests = yield* (yield* ScriptedModel.Script).requests
  const [part] = requests.at(-1)?.messages.at(-1)?.content ?? []
  return typeof part === "object" && part.type === "tool-result" ? part.result : part
})

it.effect("a call runs in the worker, and the model reads its result", () =>
  Effect.gen(function*() {
    assert.strictEqual((yield* (yield* Clerk).run({ input: "Kettles?" })).text, "Three.")
    assert.strictEqual(yield* read, 3)
  }).pipe(
    Effect.provide(withWorker(() => Effect.succeed(3), [stock, ScriptedModel.text("Three.")]))
  ))

it.effect("arguments that do not fit are reported by the worker", () =>
  Effect.gen(function*() {
    yield* (yield* Clerk).run({ input: "Kettles?" })
    assert.match(JSON.stringify(yield* read), /^"Invalid arguments: /)
  }).pipe(Effect.provide(withWorker(
    () => Effect.die("not to be called"),
    [ScriptedModel.call("get_stock", { item: 7 }), ScriptedModel.text("Hm.")]
  ))))

it.effect("a missing worker is a failed call and a warning, and the run continues", () => {
  const warnings: Array<unknown> = []
  const logger = Logger.make(({ message }) => warnings.push(message))
  return Effect.gen(function*() {
    const result = yield* (yield* Clerk).run({ input: "Kettles?" })
    assert.strictEqual(result._tag, "Completed")
    assert.strictEqual(yield* read, "The tool cannot be reached.")
    assert.match(String(warnings), /^nothing came back of get_stock: /)
  }).pipe(
    Effect.provide(clerk(executor("http://127.0.0.1:1"), [stock, ScriptedModel.text("I cannot tell.")])),
    Effect.provide(Logger.layer([logger]))
  )
})

it.live("an abort interrupts the handler in the worker", () =>
  Effect.gen(function*() {
    const [began, ended] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
    const hangs = Effect.ensuring(
      Effect.andThen(Deferred.succeed(began, undefined), Effect.never),
      Deferred.succeed(ended, undefined)
    )
    yield* Effect.gen(function*() {
      const run = yield* (yield* Clerk).start({ input: "Kettles?" })
      yield* Deferred.await(began)
      yield* run.abort
      yield* Deferred.await(ended)
    }).pipe(Effect.provide(withWorker(() => hangs, [stock])))
  }))
