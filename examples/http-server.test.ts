import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Option, Stream } from "effect"
import { Agent, RunError, RunEvent, SessionStore } from "fiberloop"
import { ScriptedModel } from "fiberloop/testing"
import { abort, answer, events, messages, type Response, start, stream, watch } from "./http-client.ts"
import { serving } from "./http-loopback.ts"
import { Assistant } from "./http-server.ts"

// Real sockets take real time, so these tests use `it.live`.

const facts = (response: Response) => Stream.filter(events(response), ({ event }) => RunEvent.isDurable(event))

it.live("streams a run's events; each fact's id is its place in the log", () =>
  Effect.gen(function*() {
    const response = yield* stream("one", { text: "Hi" })
    assert.strictEqual(response.headers["content-type"], "text/event-stream")
    const all = yield* Stream.runCollect(events(Effect.succeed(response)))
    const facts = all.filter(({ event }) => RunEvent.isDurable(event))
    const stored = yield* Stream.runCollect((yield* SessionStore).read("one"))
    assert.deepStrictEqual(facts.map(({ event }) => event), stored)
    assert.deepStrictEqual(facts.map(({ id }) => id), stored.map(({ seq }) => String(seq)))
    const text = all.flatMap(({ event }) => event._tag === "TextDelta" ? [event.delta] : [])
    assert.deepStrictEqual(text, ["Hello ", "you."])
  }).pipe(Effect.provide(serving(ScriptedModel.text("Hello ", "you.")))))

it.live("a client that leaves aborts the run, and the model's stream closes", () =>
  Effect.gen(function*() {
    const gate = yield* ScriptedModel.makeGate
    yield* Effect.gen(function*() {
      const story = events(stream("one", { text: "A story" }))
      yield* Stream.runDrain(Stream.takeUntil(story, ({ event }) => event._tag === "TextDelta"))
      yield* gate.closed
      const end = yield* (yield* SessionStore).watch("one").pipe(Stream.filter(RunEvent.isEnd), Stream.runHead)
      assert.deepInclude(Option.getOrUndefined(end), { _tag: "RunAborted", reason: "consumer" })
    }).pipe(Effect.provide(serving([ScriptedModel.text("Once upon"), ScriptedModel.gate(gate)])))
  }))

it.live("a client that leaves before the answer begins aborts the run", () =>
  Effect.gen(function*() {
    const gate = yield* ScriptedModel.makeGate
    yield* Effect.gen(function*() {
      const asking = yield* Effect.forkChild(answer("one", { text: "A story" }))
      yield* gate.started
      yield* Fiber.interrupt(asking)
      yield* gate.closed
    }).pipe(Effect.provide(serving([ScriptedModel.gate(gate)])))
  }))

it.live("a run that does not depend on its readers is aborted by way of its session", () =>
  Effect.gen(function*() {
    const gate = yield* ScriptedModel.makeGate
    yield* Effect.gen(function*() {
      yield* start("one", { text: "A story" })
      yield* gate.started
      assert.deepStrictEqual([(yield* abort("one")).status, (yield* abort("none")).status], [204, 404])
      const [last] = (yield* Stream.runCollect((yield* SessionStore).read("one"))).slice(-1)
      assert.deepInclude(last, { _tag: "RunAborted", reason: "requested" })
    }).pipe(Effect.provide(serving([ScriptedModel.text("Once upon"), ScriptedModel.gate(gate)])))
  }))

it.live("a reader that returns with its last id misses nothing and sees nothing twice", () =>
  Effect.gen(function*() {
    const gate = yield* ScriptedModel.makeGate
    yield* Effect.gen(function*() {
      const run = yield* Effect.forkChild(Stream.runDrain(events(stream("one", { text: "A story" }))))
      yield* gate.started
      const before = yield* Stream.runCollect(Stream.take(facts(watch("one")), 2))
      yield* gate.release
      const after = yield* Stream.runCollect(facts(watch("one", before.at(-1)?.id)))
      yield* Fiber.join(run)
      const whole = yield* Stream.runCollect(facts(watch("one")))
      assert.deepStrictEqual([...before, ...after], whole)
      assert.deepStrictEqual(whole.map(({ id }) => Number(id)), whole.map((_, i) => i + 1))
      assert.strictEqual(whole.at(-1)?.event._tag, "RunCompleted")
    }).pipe(
      Effect.provide(serving([ScriptedModel.text("Once"), ScriptedModel.gate(gate), ScriptedModel.text(" more")]))
    )
  }))

it.live("a run left under way by a dead process continues, and those who read along see its end", () =>
  Effect.gen(function*() {
    const store = yield* SessionStore
    yield* answer("one", { text: "Hi" })
    const [started] = yield* Stream.runCollect(store.read("one", { to: 1 }))
    const left: RunEvent.Durable = { ...started!, runId: "left" }
    const writes = store.open("two", { runId: "left", create: true }).pipe(
      Effect.flatMap(({ append }) => append([left]))
    )
    yield* Effect.scoped(writes)
    const reading = yield* Effect.forkChild(Stream.runCollect(facts(watch("two"))))
    yield* Layer.build(Agent.recovering(Assistant))
    const seen = yield* Fiber.join(reading)
    assert.deepInclude(seen[1]?.event, { _tag: "RunAborted", reason: "crashed" })
    assert.deepInclude(seen.at(-1)?.event, { _tag: "RunCompleted", runId: "left" })
    assert.deepStrictEqual((yield* store.list()).map(({ end }) => end), ["RunCompleted", "RunCompleted"])
  }).pipe(Effect.provide(serving(ScriptedModel.text("Hello."), ScriptedModel.text("As I said.")))))

it.live("a session may have the longest valid id", () =>
  Effect.gen(function*() {
    for (const id of ["x".repeat(200), "ü".repeat(200)]) {
      assert.strictEqual((yield* answer(id, { text: "Hi" })).status, 200)
      assert.strictEqual((yield* messages(id)).status, 200)
    }
  }).pipe(Effect.provide(serving(ScriptedModel.text("Hello."), ScriptedModel.text("Hello.")))))

it.live("a reader of a session in which nothing happens is connected at once", () =>
  Effect.gen(function*() {
    yield* answer("one", { text: "Hi" })
    const { head } = (yield* (yield* SessionStore).info("one"))!
    // there are no headers before the first bytes, and a proxy may not wait longer
    const bytes = Stream.unwrap(Effect.map(watch("one", String(head)), (opened) => opened.stream))
    const connected = yield* Effect.timeoutOption(Stream.runHead(bytes), "5 seconds")
    assert.isTrue(Option.isSome(connected))
  }).pipe(Effect.provide(serving(ScriptedModel.text("Hello.")))))

it.live("a run continues without its client, and tabs see it live, a late one also what came before", () =>
  Effect.gen(function*() {
    const [begin, rest] = [yield* ScriptedModel.makeGate, yield* ScriptedModel.makeGate]
    yield* Effect.gen(function*() {
      yield* answer("acme/1", { text: "Hi" })
      const heard = yield* Deferred.make<void>()
      const tab = yield* Effect.forkChild(Stream.runCollect(
        events(watch("acme/1", "5")).pipe(Stream.tap(({ event }) => {
          if (event._tag === "TurnStarted") return begin.release
          return event._tag === "TextDelta" ? Deferred.succeed(heard, undefined) : Effect.void
        }))
      ))
      assert.strictEqual((yield* start("acme/1", { text: "A story", runId: "story" })).status, 202)
      yield* Deferred.await(heard)
      yield* rest.started
      const caughtUp = yield* Deferred.make<void>()
      const late = yield* Effect.forkChild(Stream.runCollect(
        events(watch("acme/1", "6")).pipe(
          Stream.tap(({ event }) => event._tag === "TextDelta" ? Deferred.succeed(caughtUp, undefined) : Effect.void)
        )
      ))
      yield* Deferred.await(caughtUp)
      yield* rest.release
      const [seen, back] = [yield* Fiber.join(tab), yield* Fiber.join(late)]
      for (const all of [seen, back]) {
        const said = all.flatMap(({ event }) => event._tag === "TextDelta" ? [event.delta] : [])
        assert.deepStrictEqual(said, ["Once", " more"])
      }
      const stored = yield* Stream.runCollect((yield* SessionStore).read("acme/1", { from: 6 }))
      const factsOf = (all: typeof seen) => all.map(({ event }) => event).filter(RunEvent.isDurable)
      assert.deepStrictEqual(factsOf(seen), stored)
      assert.deepStrictEqual(factsOf(back), stored.slice(1))
    }).pipe(Effect.provide(serving(
      ScriptedModel.text("Hello."),
      [ScriptedModel.gate(begin), ScriptedModel.text("Once"), ScriptedModel.gate(rest), ScriptedModel.text(" more")]
    )))
  }))

it.live("a late first reader has the answer under way in full, and only the messages of earlier ones", () =>
  Effect.gen(function*() {
    const [first, second] = [yield* ScriptedModel.makeGate, yield* ScriptedModel.makeGate]
    yield* Effect.gen(function*() {
      yield* start("acme/1", { text: "A story", runId: "story" })
      yield* first.started
      const run = yield* (yield* Assistant).liveIn("acme/1")
      const steering = yield* Effect.forkChild(run!.steer("A longer one"))
      yield* (yield* SessionStore).watch("acme/1").pipe(
        Stream.takeUntil(({ _tag }) => _tag === "InputQueued"),
        Stream.runDrain
      )
      yield* first.release
      yield* second.started
      yield* Fiber.join(steering)
      const seen = yield* events(watch("acme/1")).pipe(
        Stream.tap(({ event }) => event._tag === "TextDelta" ? second.release : Effect.void),
        Stream.runCollect
      )
      const told = seen.flatMap(({ event }) =>
        event._tag === "TextDelta" ? [event.delta] : event._tag === "AssistantMessage" ? [event._tag] : []
      )
      assert.deepStrictEqual(told, ["AssistantMessage", "Twice", " more", "AssistantMessage"])
    }).pipe(Effect.provide(serving(
      [ScriptedModel.text("Once"), ScriptedModel.gate(first)],
      [ScriptedModel.text("Twice"), ScriptedModel.gate(second), ScriptedModel.text(" more")]
    )))
  }))

it.live("the whole answer is JSON", () =>
  Effect.gen(function*() {
    const { json, status } = yield* answer("one", { text: "Hi" })
    assert.strictEqual(status, 200)
    assert.deepInclude(yield* json, { end: "Completed", text: "Hello." })
  }).pipe(Effect.provide(serving(ScriptedModel.text("Hello.")))))

it.live("a run that fails while it streams says so as its last fact", () =>
  Effect.gen(function*() {
    const all = yield* Stream.runCollect(events(stream("one", { text: "Hi" })))
    const end = all.at(-1)?.event
    assert.isTrue(end?._tag === "RunFailed" && end.error.reason._tag === "Authentication")
  }).pipe(Effect.provide(serving(
    ScriptedModel.fail(new RunError.NonRetryableError({ _tag: "Authentication", message: "wrong key" }))
  ))))

it.live("a page that opens has everything that was said, including what was compacted", () =>
  Effect.gen(function*() {
    yield* answer("one", { text: "Hi" })
    yield* answer("one", { text: "Still there?" })
    const compacted = yield* (yield* Assistant).compact("one")
    assert.isBelow(compacted.messages.after, compacted.messages.before)
    const page = yield* messages("one")
    const said = yield* page.json
    const text = (role: string, text: string) => ({ role, content: [{ type: "text", text }] })
    assert.deepStrictEqual(said, [
      text("user", "Hi"),
      text("assistant", "Hello."),
      text("user", "Still there?"),
      text("assistant", "Yes.")
    ])
    assert.strictEqual(page.headers["last-event-id"], String((yield* (yield* SessionStore).info("one"))?.head))
    assert.strictEqual((yield* messages("two")).status, 404)
  }).pipe(Effect.provide(serving(ScriptedModel.text("Hello."), ScriptedModel.text("Yes.")))))

it.live("a page that opens has an answer that was cut off, and nothing as its user's that the user did not say", () =>
  Effect.gen(function*() {
    const gate = yield* ScriptedModel.makeGate
    yield* Effect.gen(function*() {
      yield* start("one", { text: "A story" })
      yield* gate.started
      yield* abort("one")
      yield* answer("one", { text: "And then?" })
      const text = (role: string, text: string) => ({ role, content: [{ type: "text", text }] })
      assert.deepStrictEqual(yield* (yield* messages("one")).json, [
        text("user", "A story"),
        text("assistant", "Once upon"),
        text("user", "And then?"),
        text("assistant", "The end.")
      ])
    }).pipe(Effect.provide(serving(
      [ScriptedModel.text("Once upon"), ScriptedModel.gate(gate)],
      ScriptedModel.text("The end.")
    )))
  }))
