import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SessionStore, SessionStoreMemory } from "fiberloop"
import { ScriptedModel } from "fiberloop/testing"
import { makeHandler } from "./web-handler.ts"

const post = (signal?: AbortSignal) =>
  new Request("http://localhost/sessions/one/stream", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ text: "A story" }),
    ...(signal === undefined ? {} : { signal })
  })

/** The handler over a store that the test can see too. */
const serving = Effect.fnUntraced(function*(...turns: ReadonlyArray<ScriptedModel.Turn>) {
  const world = yield* Layer.build(Layer.mergeAll(SessionStoreMemory.layer, ScriptedModel.layer(turns)))
  const { dispose, handler } = makeHandler(Layer.succeedContext(world))
  yield* Effect.addFinalizer(() => Effect.promise(dispose))
  const end = Effect.map(Context.get(world, SessionStore).info("one"), (info) => info?.end)
  return { dispose: Effect.promise(dispose), end, ask: (request: Request) => Effect.promise(() => handler(request)) }
})

it.live("streams a run's events", () =>
  Effect.gen(function*() {
    const { ask } = yield* serving(ScriptedModel.text("Once upon a time."))
    const response = yield* ask(post())
    assert.deepStrictEqual([response.status, response.headers.get("content-type")], [200, "text/event-stream"])
    const body = yield* Effect.promise(() => response.text())
    assert.match(body, /event: TextDelta\ndata: .*"delta":"Once upon a time\."/)
    assert.match(body, /event: RunCompleted\n/)
  }))

it.live("cancelling the body aborts the run", () =>
  Effect.gen(function*() {
    const gate = yield* ScriptedModel.makeGate
    const { ask, dispose, end } = yield* serving(ScriptedModel.gate(gate))
    const response = yield* ask(post())
    yield* gate.started
    yield* Effect.promise(() => response.body!.cancel())
    yield* gate.closed
    yield* dispose
    assert.strictEqual(yield* end, "RunAborted")
  }))

it.live("aborting the request aborts the run", () =>
  Effect.gen(function*() {
    const gate = yield* ScriptedModel.makeGate
    const { ask, dispose, end } = yield* serving(ScriptedModel.gate(gate))
    const controller = new AbortController()
    yield* ask(post(controller.signal))
    yield* gate.started
    controller.abort()
    yield* gate.closed
    yield* dispose
    assert.strictEqual(yield* end, "RunAborted")
  }))

it.live("a refused request has a status", () =>
  Effect.gen(function*() {
    const { ask } = yield* serving()
    const response = yield* ask(new Request("http://localhost/sessions/two/events"))
    assert.strictEqual(response.status, 404)
  }))

it.live("a name that the server was not told of is refused", () =>
  Effect.gen(function*() {
    const { ask } = yield* serving()
    const response = yield* ask(new Request("http://evil.example/sessions/two/events"))
    assert.strictEqual(response.status, 421)
  }))
