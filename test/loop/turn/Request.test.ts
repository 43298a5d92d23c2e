/** What a model is given is its own: it can keep it, and what it does to it reaches nobody's log. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import type * as Message from "../../../src/run/Message.ts"
import * as Model from "../../../src/services/Model.ts"
import * as TestAgent from "../../support/TestAgent.ts"

const turns = 4
const usage = { inputTokens: 1, outputTokens: 1 }

const answer = (turn: number): ReadonlyArray<Model.ModelPart> =>
  turn < turns
    ? [
      { type: "tool-call", id: `call${turn}`, name: "work", params: { n: turn } },
      { type: "finish", reason: "tool-calls", usage }
    ]
    : [{ type: "text-delta", block: "0", delta: "Done." }, { type: "finish", reason: "stop", usage }]

/** What a model that does this with its requests is given, captured when it is given. */
const givenTo = Effect.fnUntraced(function*(use: (messages: Array<Message.Message>) => void) {
  const given: Array<ReadonlyArray<Message.Message>> = []
  const model: Model.Model["Service"] = {
    info: { provider: "test", name: "keeper" },
    stream: ({ messages, metadata }) => {
      given.push(structuredClone(messages))
      use(messages as Array<Message.Message>)
      return Stream.fromIterable(answer(metadata.turn))
    }
  }
  const { agent, store } = yield* TestAgent.make([], { model: Layer.succeed(Model.Model, model) })
  const result = yield* agent.run({ sessionId: "s", input: "go" })
  const again = yield* agent.run({ sessionId: "s", input: "and now?" })
  const said = (yield* store.log("s")).flatMap((event): ReadonlyArray<unknown> =>
    event._tag === "RunStarted" ? [event.input.messages] : event._tag === "AssistantMessage" ? [event.message] : []
  )
  return { given, texts: [result.text, again.text], said }
})

describe("a model", () => {
  it.effect("that keeps its requests has them as they were given", () =>
    Effect.gen(function*() {
      const kept: Array<ReadonlyArray<Message.Message>> = []
      const { given } = yield* givenTo((messages) => kept.push(messages))
      assert.deepStrictEqual(kept, given)
      assert.deepStrictEqual(given.map(({ length }) => length).slice(0, turns), [2, 4, 6, 8])
    }))

  for (
    const [how, use] of Object.entries<(messages: Array<Message.Message>) => void>({
      "empties its request": (messages) => void messages.splice(0),
      "writes into its request": (messages) => void messages.push({ role: "user", content: [] }),
      "turns its request round": (messages) => void messages.reverse()
    })
  ) {
    it.effect(`that ${how} is given the same as any other`, () =>
      Effect.gen(function*() {
        const others = yield* givenTo(() => {})
        assert.deepStrictEqual(yield* givenTo(use), others)
      }))
  }

  it.effect("that writes into what it is given changes nothing in the log", () =>
    Effect.gen(function*() {
      const others = yield* givenTo(() => {})
      const { said } = yield* givenTo((messages) => {
        for (const { content } of messages) {
          if (typeof content === "string") continue
          for (const part of content) {
            if (part.type === "text") Object.assign(part, { text: "[masked]" })
            if (part.type === "tool-call") Object.assign(part, { params: {} })
          }
        }
      })
      assert.deepStrictEqual(said, others.said)
    }))
})
