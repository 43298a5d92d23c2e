/** What a person says right after results of tools, to servers that refuse it there: Mistral, and its models elsewhere. */
import { createOpenAI } from "@ai-sdk/openai"
import { assert, describe, it } from "@effect/vitest"
import * as Prompt from "effect/ai/Prompt"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as ModelAiSdk from "../../src/layers/ModelAiSdk.ts"
import * as ModelOpenAi from "../../src/layers/ModelOpenAi.ts"
import type * as Run from "../../src/Run.ts"
import type * as Model from "../../src/services/Model.ts"
import * as OpenAi from "../support/OpenAiServer.ts"
import * as TestAgent from "../support/TestAgent.ts"

const { data, delta, events, finish, status, toolCalls } = OpenAi

const works = (...ids: ReadonlyArray<string>) =>
  events(data(
    toolCalls(...ids.map((id, index) => ({ index, id, function: { name: "work", arguments: "{\"n\":1}" } }))),
    finish("tool_calls")
  ))
const says = (content: string) => events(data(delta({ content }), finish("stop")))

const mistral = "Unexpected role 'user' after role 'tool'"
const refused = (message: string) => ({
  object: "error",
  message,
  type: "invalid_request_message_order",
  param: null,
  code: "3230"
})
const refusal = (message: string) => status(400, refused(message))
const template =
  "After the optional system message, conversation roles must alternate user and assistant roles except for tool calls "
  + "and results."
const openRouter = status(400, {
  error: {
    message: "Provider returned error",
    code: 400,
    metadata: { raw: JSON.stringify({ object: "error", message: mistral, code: "3230" }), provider_name: "Mistral" }
  }
})

const roles = ({ messages }: any): ReadonlyArray<string> => messages.map(({ role }: { readonly role: string }) => role)
const isInOrder = (body: any) => !roles(body).some((role, i) => role === "user" && roles(body)[i - 1] === "tool")

/** A server that takes no user's message right after results, and answers other results and questions with a text. */
const strict = (refused: OpenAi.Reply, first: OpenAi.Reply = works("a")) =>
  OpenAi.make(
    () => first,
    (body) => isInOrder(body) ? says("Done.") : refused
  )

type Serving = Pick<OpenAi.Server, "baseUrl">

const compatible = ({ baseUrl }: Serving) => ModelOpenAi.layer({ model: "devstral", baseUrl, apiKey: OpenAi.key })
const named = (name: string) => ({ baseUrl: baseURL }: Serving) =>
  ModelAiSdk.layer({ model: createOpenAI({ name, baseURL, apiKey: "sk-none" }).chat("devstral") })

const models: ReadonlyArray<readonly [string, (server: Serving) => ReturnType<typeof compatible>]> = [
  ["ModelOpenAi", compatible],
  ["Mistral's package", named("mistral")],
  ["another package of the AI SDK", named("vllm")]
]

const agentOver = (model: ReturnType<typeof compatible>, tool?: TestAgent.Handler) =>
  TestAgent.make([], { model: model as Layer.Layer<Model.Model>, ...(tool === undefined ? {} : { tool }) })

describe.each(models)("a model of Mistral, over %s,", (_, modelOf) => {
  it.effect("is not asked the same again where there are no results to put a word behind", () =>
    Effect.gen(function*() {
      const server = yield* OpenAi.make(refusal(template), says("Done."))
      const { agent } = yield* agentOver(modelOf(server))
      const error = yield* Effect.flip(agent.run({ input: "go" }))
      assert.deepStrictEqual([error.reason._tag, server.requests.length], ["InvalidRequest", 1])
    }))

  it.effect("answers a message to a session whose last run ended with results of tools", () =>
    Effect.gen(function*() {
      const server = yield* strict(refusal(mistral), works("a", "b"))
      const { agent } = yield* agentOver(modelOf(server))
      const stopped = yield* agent.run({ input: "go", sessionId: "s", limits: { maxTurns: 1 } })
      assert.strictEqual(stopped._tag, "Limited")
      assert.strictEqual((yield* agent.run({ input: "and?", sessionId: "s" })).text, "Done.")
      assert.deepStrictEqual(roles(server.requests.at(-1)?.body), [
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
        "assistant",
        "user"
      ])
    }))

  it.effect("answers what a person says while a tool runs", () =>
    Effect.gen(function*() {
      const server = yield* strict(refusal(mistral))
      const started = yield* Deferred.make<Run.Run<string>>()
      const { agent } = yield* agentOver(modelOf(server), () =>
        Deferred.await(started).pipe(
          Effect.flatMap((run) => run.queue("steer", "shorter")),
          Effect.orDie,
          Effect.as("done")
        ))
      const run = yield* agent.start({ input: "go" })
      yield* Deferred.succeed(started, run)
      assert.strictEqual((yield* run.result).text, "Done.")
    }))
})

/** The requests of a session with a message right after results, and of one more message. */
const requestsOf = Effect.fnUntraced(function*(
  modelOf: (server: Serving) => ReturnType<typeof compatible>,
  server: OpenAi.Server
) {
  const { agent } = yield* agentOver(modelOf(server))
  yield* agent.run({ input: "go", sessionId: "s", limits: { maxTurns: 1 } })
  yield* agent.run({ input: "and?", sessionId: "s" })
  yield* agent.run({ input: "more", sessionId: "s" })
  return server.requests.slice(1).map(({ body }) => isInOrder(body))
})

describe("a server that refuses a message right after results", () => {
  it.effect.each(
    [
      ["Mistral", refusal(mistral)],
      ["Mistral, in the first event of a 200", events(data(refused(mistral)))],
      ["a template", refusal(template)],
      ["OpenRouter", openRouter]
    ] as const
  )(
    "in the words of %s, is asked once more, then never refuses it again",
    ([, refused]) =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* requestsOf(compatible, yield* strict(refused)), [false, true, true])
      })
  )

  it.effect("is never given the chance where Mistral's package calls it", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* requestsOf(named("mistral"), yield* strict(refusal(mistral))), [true, true])
    }))

  const call = { id: "a", name: "work", providerExecuted: false }
  const asked = (text: string) => Prompt.userMessage({ content: [Prompt.textPart({ text })] })
  const calls = Prompt.assistantMessage({ content: [Prompt.toolCallPart({ ...call, params: {} })] })

  it.effect("is left before it is asked once more, though it keeps its refusal open", () =>
    Effect.gen(function*() {
      const result = Prompt.toolResultPart({ ...call, result: 1, isFailure: false })
      const prompt = Prompt.fromMessages([asked("go"), calls, Prompt.toolMessage({ content: [result] }), asked("and?")])
      const server = yield* OpenAi.make(
        OpenAi.open(data(refused(mistral))),
        OpenAi.open(data(delta({ content: "Done." })))
      )
      const left = OpenAi.stream({ prompt }).pipe(
        Stream.filter(({ type }) => type === "text-delta"),
        Stream.mapEffect(() => Deferred.await(server.left)),
        Stream.runHead
      )
      yield* Effect.provide(left, OpenAi.model(server))
      assert.lengthOf(server.requests, 2)
    }))

  it.effect("gets the files of a result, too", () =>
    Effect.gen(function*() {
      const image = Prompt.filePart({ mediaType: "image/png", data: "iVBORw0KGgo=" })
      const result = Prompt.toolResultPart({ ...call, result: 1, isFailure: false, modelOutput: [image] })
      const prompt = Prompt.fromMessages([asked("go"), calls, Prompt.toolMessage({ content: [result] })])
      const server = yield* OpenAi.make((body) => isInOrder(body) ? says("Done.") : refusal(mistral))
      const { error, parts } = yield* Effect.provide(OpenAi.outcome({ prompt }), OpenAi.model(server))
      assert.deepStrictEqual([error, OpenAi.text(parts)], [undefined, "Done."])
      assert.deepStrictEqual(roles(server.requests.at(-1)?.body), ["user", "assistant", "tool", "assistant", "user"])
    }))
})

it.effect.each(models.filter(([name]) => name !== "Mistral's package"))(
  "a server that takes a message right after results is sent no other, over %s",
  ([, modelOf]) =>
    Effect.gen(function*() {
      const server = yield* OpenAi.make(works("a"), says("Done."))
      assert.deepStrictEqual(yield* requestsOf(modelOf, server), [false, false])
    })
)
