/**
 * JSON nested so deeply that it cannot be written again, though it was read: 40 kB that a model may send, by mistake or not, or
 * less that can just be written here, but not where the stack is fuller. It is its sender's problem, not the session's.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Agent from "../../src/Agent.ts"
import * as Fiberloop from "../../src/Fiberloop.ts"
import * as SessionStoreMemory from "../../src/layers/SessionStoreMemory.ts"
import * as PlainJson from "../../src/layers/tools/PlainJson.ts"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import * as Transcript from "../../src/run/Transcript.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Draft from "../support/Drafts.ts"
import * as Requests from "../support/Requests.ts"
import * as TestAgent from "../support/TestAgent.ts"

const nested = (depth: number): Schema.Json => JSON.parse(`${"[".repeat(depth)}"\\u0000"${"]".repeat(depth)}`)
const deep = nested(20_000)

describe("a transcript", () => {
  it.each([[500, true], [999, true], [1000, false], [4000, false]])(
    "keeps arguments of %s levels: %s",
    (depth, kept) => {
      const log = Draft.log(Draft.started("x"), Draft.assistant([Draft.call("search", { q: nested(depth) })]))
      const messages = JSON.stringify(Transcript.messages(Transcript.fromLog(log)))
      assert.strictEqual(messages.includes("left out: nested too deeply"), !kept)
      assert.strictEqual(messages.includes("[".repeat(depth)), kept)
    }
  )

  it.each<readonly [string, ReadonlyArray<RunEvent.Draft>]>([
    ["arguments", [Draft.assistant([Draft.call("search", { q: deep })])]],
    ["a result", [
      Draft.assistant([Draft.call("search")]),
      Draft.settled("1.0", { _tag: "Succeeded", result: deep })
    ]],
    ["metadata", [
      Draft.assistant([{ type: "text", text: "hi", metadata: { test: deep } }])
    ]]
  ])("takes %s of any depth, and makes messages that can be sent", (_, drafts) => {
    const transcript = Transcript.fromLog(Draft.log(Draft.started("x"), ...drafts))
    const messages = Transcript.messages(transcript, Draft.model)
    assert.isNotEmpty(JSON.stringify(messages))
    assert.strictEqual(Requests.violations(transcript, 9, Draft.model), "")
    for (const { content } of messages) for (const part of content) assert.property(part, "type")
  })
})

describe("JSON that can only just be written", () => {
  const just = nested(2000)
  const Kit = Toolkit.make(
    Tool.make("look", { parameters: Schema.Struct({ at: Schema.Unknown }), success: Schema.Unknown })
  )
  const agent = Agent.make({ instructions: "", toolkit: Kit })
  const world = (...turns: ReadonlyArray<ScriptedModel.Turn>) =>
    Effect.provide([
      Kit.toLayer({ look: () => Effect.succeed(just) }),
      Fiberloop.layer,
      SessionStoreMemory.layer,
      ScriptedModel.layer(turns)
    ])

  it.effect("is accepted neither as an argument nor as a result", () =>
    Effect.gen(function*() {
      const events = yield* Stream.runCollect((yield* agent).stream({ input: "go" }))
      const said = events.find((event) => event._tag === "AssistantMessage")!.message.content[0]
      assert.propertyVal(said, "params", "(left out: nested too deeply)")
      assert.deepStrictEqual(
        events.flatMap((event) => event._tag === "ToolSettled" ? [event.outcome] : []).slice(1),
        [{ _tag: "NotEncodable", message: "it is nested in more than 1000 levels" }]
      )
    }).pipe(world(
      [ScriptedModel.call("look", just), ScriptedModel.call("look", { at: 1 })],
      ScriptedModel.text("done")
    )))

  it.effect("is recognised by a value's toJSON, not by what the value is made of", () =>
    Effect.gen(function*() {
      const text = "x".repeat(3000)
      // like a row of an ORM, which knows its table, which knows its rows
      const row = { table: { rows: [] as Array<unknown> }, toJSON: () => ({ text }) }
      row.table.rows.push(row)
      const written = { toJSON: () => just }
      const results: ReadonlyArray<unknown> = [[row], written]
      assert.deepStrictEqual(results.map((result) => PlainJson.of(result)), [
        { _tag: "Json", text: JSON.stringify([{ text }]), isText: false },
        { _tag: "NotJson", message: "it is nested in more than 1000 levels" }
      ])
      const given = { input: "go", data: row as unknown as Schema.Json }
      assert.strictEqual((yield* (yield* agent).run(given))._tag, "Completed")
    }).pipe(world(ScriptedModel.text("done"))))

  it.effect("is refused as data", () =>
    Effect.gen(function*() {
      const { reason } = yield* Effect.flip((yield* agent).run({ input: "go", data: just }))
      assert.strictEqual(reason.message, "data must be nested in at most 1000 levels")
    }).pipe(world()))

  it.effect("is refused as data for its depth, where it is deeper than it could be written", () =>
    Effect.gen(function*() {
      const data = JSON.parse("[".repeat(20_000) + "]".repeat(20_000))
      const { reason } = yield* Effect.flip((yield* agent).run({ input: "go", data }))
      assert.strictEqual(reason.message, "data must be nested in at most 1000 levels")
    }).pipe(world()))
})

describe("a session", () => {
  it.effect("in which a model sent such arguments ends the run, and answers the next message", () =>
    Effect.gen(function*() {
      const { agent } = yield* TestAgent.make([
        ScriptedModel.call("work", { n: deep }),
        ScriptedModel.text("sorry"),
        ScriptedModel.text("hello again")
      ])
      const input = { input: "go", sessionId: "session-1" }
      const events = yield* Stream.runCollect(
        agent.stream(input).pipe(Stream.catchCause(() => Stream.empty))
      )
      assert.match(events.at(-1)!._tag, /^Run(Completed|Failed|Limited)$/)
      const result = yield* agent.run({ ...input, input: "hello?" })
      assert.strictEqual(result._tag, "Completed")
    }))
})
