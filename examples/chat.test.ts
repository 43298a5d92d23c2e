import { assert, it } from "@effect/vitest"
import { Effect, Layer, Queue, Sink, Stdio, Stream } from "effect"
import { Fiberloop, RunError, SessionStore, SessionStoreMemory } from "fiberloop"
import { ScriptedModel } from "fiberloop/testing"
import { chat, Companion } from "./chat.ts"

/** Types `lines` into a chat with a model that follows the script; returns the final screen. */
const typed = (
  lines: ReadonlyArray<string>,
  turns: ReadonlyArray<ScriptedModel.Turn>,
  ctrlC: Effect.Effect<void> = Effect.never
) =>
  Effect.gen(function*() {
    let screen = ""
    const Screen = Stdio.layerTest({
      stdin: Stream.encodeText(Stream.fromIterable(lines.map((line) => `${line}\n`))),
      stdout: () => Sink.forEach((text) => Effect.sync(() => screen += text))
    })
    const Test = Companion.layer.pipe(
      Layer.provide(Fiberloop.layer),
      Layer.provideMerge([SessionStoreMemory.layer, ScriptedModel.layer(turns), Screen])
    )
    return yield* Effect.gen(function*() {
      yield* chat({ sessionId: "chat", ctrlC })
      const events = yield* (yield* SessionStore).read("chat").pipe(Stream.runCollect)
      const requests = yield* (yield* ScriptedModel.Script).requests
      return { screen, events, messages: requests.at(-1)?.messages.map(({ content, role }) => [role, content]) }
    }).pipe(Effect.provide(Test))
  })

it.effect("a conversation is one session, which the model sees as a whole", () =>
  Effect.gen(function*() {
    const { messages, screen } = yield* typed(["I am Ada.", "", "Who am I?"], [
      ScriptedModel.text("Hello ", "Ada."),
      ScriptedModel.text("You are Ada.")
    ])
    assert.strictEqual(screen, "> Hello Ada.\n> \n> You are Ada.\n> ")
    assert.deepStrictEqual(messages?.slice(1), [
      ["user", [{ type: "text", text: "I am Ada." }]],
      ["assistant", [{ type: "text", text: "Hello Ada." }]],
      ["user", [{ type: "text", text: "Who am I?" }]]
    ])
  }))

it.effect("Ctrl-C aborts the answer, and the session accepts the next line", () =>
  Effect.gen(function*() {
    const gate = yield* ScriptedModel.makeGate
    const presses = yield* Queue.unbounded<void>()
    yield* Effect.forkChild(Effect.andThen(gate.started, Queue.offer(presses, undefined)))
    const { events, screen } = yield* typed(["A story!", "Shorter."], [
      [ScriptedModel.text("Once upon"), ScriptedModel.gate(gate)],
      ScriptedModel.text("The end.")
    ], Queue.take(presses))
    yield* gate.closed
    assert.strictEqual(screen, "> Once upon (aborted)\n> The end.\n> ")
    const ends = events.filter((event) => event._tag === "RunAborted" || event._tag === "RunCompleted")
    assert.deepStrictEqual(ends.map(({ _tag, reason }) => [_tag, reason]), [
      ["RunAborted", "consumer"],
      ["RunCompleted", "stop"]
    ])
  }))

it.effect("an error is reported in one line, and the conversation continues", () =>
  Effect.gen(function*() {
    const refused = new RunError.NonRetryableError({ _tag: "Authentication", message: "the key is not valid" })
    const { screen } = yield* typed(["Hello?", "Hello?"], [ScriptedModel.fail(refused), ScriptedModel.text("Hello!")])
    assert.strictEqual(screen, "> (the key is not valid)\n> Hello!\n> ")
  }))
