/**
 * Arguments nested so deeply that JSON cannot be written again, though it was read: 40 kB that a model may send, by mistake or
 * not. They are the model's problem, never the session's.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { Json } from "effect/Schema"
import * as Stream from "effect/Stream"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import * as Transcript from "../../src/run/Transcript.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Draft from "../support/Drafts.ts"
import * as Requests from "../support/Requests.ts"
import * as TestAgent from "../support/TestAgent.ts"

const nested = (depth: number): Json => JSON.parse(`${"[".repeat(depth)}"\\u0000"${"]".repeat(depth)}`)
const deep = nested(20_000)

describe("a transcript", () => {
  it("takes arguments of a depth that can just be written", () => {
    for (const depth of [500, 1000, 2000, 3000, 4000]) {
      const log = Draft.log(Draft.started("x"), Draft.assistant([Draft.call("search", { q: nested(depth) })]))
      assert.isNotEmpty(Transcript.messages(Transcript.fromLog(log)), `${depth}`)
    }
  })

  it.each<readonly [string, ReadonlyArray<RunEvent.Draft>]>([
    ["arguments", [Draft.assistant([Draft.call("search", { q: deep })])]],
    ["a result", [
      Draft.assistant([Draft.call("search")]),
      Draft.settled("1.0", { _tag: "Succeeded", result: deep })
    ]],
    ["metadata", [
      Draft.assistant([{ type: "text", text: "hi", metadata: { test: deep } }])
    ]]
  ])("takes %s of any depth, and gives messages that can be sent", (_, drafts) => {
    const transcript = Transcript.fromLog(Draft.log(Draft.started("x"), ...drafts))
    const messages = Transcript.messages(transcript, Draft.model)
    assert.isNotEmpty(JSON.stringify(messages))
    assert.strictEqual(Requests.violations(transcript, 9, Draft.model), "")
    for (const { content } of messages) for (const part of content) assert.property(part, "type")
  })
})

describe("a session", () => {
  it.effect("in which a model sent such arguments ends its run, and answers the next message", () =>
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
