/** Runs of an agent over models of the AI SDK, with a real connection: signatures, retries, cuts, aborts. */
import { assert, describe, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import { execFile } from "node:child_process"
import { join } from "node:path"
import { promisify } from "node:util"
import * as Agent from "../../src/Agent.ts"
import * as Fiberloop from "../../src/Fiberloop.ts"
import * as ModelAiSdk from "../../src/layers/ModelAiSdk.ts"
import * as SessionStoreMemory from "../../src/layers/SessionStoreMemory.ts"
import * as Sdk from "../support/AiSdkServers.ts"
import * as OpenAi from "../support/OpenAiServer.ts"
import * as RunLog from "../support/RunLog.ts"

const look = Tool.make("look", { parameters: Schema.Struct({ n: Schema.Finite }), success: Schema.String })
const toolkit = Toolkit.make(look)

/** An agent with a tool that records its uses, over a server that gives these replies. */
const place = Effect.fnUntraced(function*(make: Sdk.Maker, ...replies: ReadonlyArray<OpenAi.Reply>) {
  const server = yield* OpenAi.make(...replies)
  const used: Array<number> = []
  const tools = toolkit.toLayer({ look: ({ n }) => Effect.sync(() => (used.push(n), "seen")) })
  const model = ModelAiSdk.layer({ model: make(server) })
  const below = yield* Layer.build(Layer.mergeAll(Fiberloop.layer, SessionStoreMemory.layer, model, tools))
  const agent = yield* Agent.make({ instructions: "Look.", toolkit }).pipe(Effect.provide(below))
  return { agent, server, used }
})

const looks = Sdk.message("tool_use", Sdk.thinks(0, "hm", "SIG"), Sdk.calls(1, "toolu_1", "look", "{\"n\":1}"))
const done = Sdk.message("end_turn", Sdk.says(0, "Done."))
const overloaded = Sdk.apiError("overloaded_error", "Overloaded")
const half = [Sdk.begin(), ...Sdk.calls(0, "toolu_1", "look", "{\"n\":1}"), ...Sdk.says(1, "Ha")]

describe("a tool round", () => {
  it.live("with Claude sends the signed reasoning back unedited", () =>
    Effect.gen(function*() {
      const { agent, server, used } = yield* place(Sdk.anthropic, looks, done)
      const { text } = yield* agent.run({ input: "go" })
      assert.deepStrictEqual([text, used], ["Done.", [1]])
      const [, assistant, results] = server.requests[1]!.body.messages
      assert.deepStrictEqual(assistant.content[0], { type: "thinking", thinking: "hm", signature: "SIG" })
      assert.strictEqual(assistant.content[1].id, results.content[0].tool_use_id)
      assert.strictEqual(results.content[0].content, "seen")
    }))

  it.live("with Gemini sends the call's signature back", () =>
    Effect.gen(function*() {
      const call = { functionCall: { name: "look", args: { n: 1 } }, thoughtSignature: "TS" }
      const { agent, server, used } = yield* place(
        Sdk.google,
        OpenAi.events(OpenAi.data(Sdk.chunk([call], { finishReason: "STOP" }))),
        OpenAi.events(OpenAi.data(Sdk.chunk([{ text: "Done." }], { finishReason: "STOP" })))
      )
      const { text } = yield* agent.run({ input: "go" })
      assert.deepStrictEqual([text, used], ["Done.", [1]])
      const { contents } = server.requests[1]!.body
      assert.deepStrictEqual(contents.map(({ role }: { role: string }) => role), ["user", "model", "user"])
      const [sent, ...others] = contents[1].parts
      assert.deepInclude(sent, { thoughtSignature: "TS" })
      assert.deepInclude(sent.functionCall, { name: "look", args: { n: 1 } })
      assert.lengthOf(others, 0)
      assert.include(JSON.stringify(contents[2].parts), "seen")
    }))

  it.live("records the usage of its call with cached tokens, and the model", () =>
    Effect.gen(function*() {
      const usage = { input_tokens: 1, cache_read_input_tokens: 2, cache_creation_input_tokens: 4, output_tokens: 8 }
      const call = Sdk.calls(0, "toolu_1", "look", "{\"n\":1}")
      const { agent } = yield* place(
        Sdk.anthropic,
        OpenAi.events(Sdk.named(Sdk.begin(usage), ...call, ...Sdk.finish("tool_use", usage))),
        done
      )
      const run = yield* agent.start({ input: "go" })
      const events = yield* Stream.runCollect(run.events)
      const messages = RunLog.only(events, "AssistantMessage")
      const model = { provider: "anthropic.messages", name: "claude-x" }
      assert.deepStrictEqual(messages.map((message) => message.model), [model, model])
      assert.deepStrictEqual(messages[0]?.usage, {
        inputTokens: 7,
        outputTokens: 8,
        cachedInputTokens: 2,
        cacheWriteTokens: 4
      })
    }))
})

describe("a tool that Anthropic runs itself", () => {
  const found = { type: "web_search_result", url: "https://a.test/", title: "A", encrypted_content: "ENC" }
  const query = { type: "input_json_delta", partial_json: "{\"query\":\"a\"}" }
  const searched = Sdk.message(
    "tool_use",
    Sdk.block(0, { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} }, query),
    Sdk.block(1, { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [found] }),
    Sdk.calls(2, "toolu_1", "look", "{\"n\":1}")
  )

  it.live("is not run here, stays in the message beside a call that is, and goes back with its result", () =>
    Effect.gen(function*() {
      const server = yield* OpenAi.make(searched, done)
      const kit = Toolkit.make(look, Sdk.WebSearch({ maxUses: 2 }))
      const below = yield* Layer.build(Layer.mergeAll(
        Fiberloop.layer,
        SessionStoreMemory.layer,
        ModelAiSdk.layer({ model: Sdk.anthropic(server) }),
        kit.toLayer({ look: () => Effect.succeed("seen") })
      ))
      const agent = yield* Agent.make({ instructions: "Look.", toolkit: kit }).pipe(Effect.provide(below))
      const run = yield* agent.start({ input: "go" })
      const events = yield* Stream.runCollect(run.events)
      assert.strictEqual((yield* run.result).text, "Done.")
      assert.deepStrictEqual(RunLog.only(events, "ToolStarted").map(({ tool }) => tool), ["look"])
      assert.lengthOf(RunLog.outcomes(events), 1)
      const [message] = RunLog.only(events, "AssistantMessage")
      assert.deepStrictEqual(message?.message.content.map(({ type }) => type), [
        "tool-call",
        "tool-result",
        "tool-call"
      ])
      const [, assistant, results] = server.requests[1]!.body.messages
      assert.deepStrictEqual(assistant.content.map(({ type }: { type: string }) => type), [
        "server_tool_use",
        "web_search_tool_result",
        "tool_use"
      ])
      assert.include(JSON.stringify(assistant.content[1]), "\"encrypted_content\":\"ENC\"")
      assert.lengthOf(results.content, 1)
    }))

  it.live("is not run here even if a tool of the agent has its name", () =>
    Effect.gen(function*() {
      const own = Tool.make("web_search", { parameters: Schema.Struct({ query: Schema.String }), success: Schema.Json })
      const kit = Toolkit.make(look, own)
      const ran: Array<string> = []
      const server = yield* OpenAi.make(searched, done)
      const below = yield* Layer.build(Layer.mergeAll(
        Fiberloop.layer,
        SessionStoreMemory.layer,
        ModelAiSdk.layer({ model: Sdk.anthropic(server) }),
        kit.toLayer({
          look: () => Effect.sync(() => (ran.push("look"), "seen")),
          web_search: () => Effect.sync(() => (ran.push("web_search"), []))
        })
      ))
      const agent = yield* Agent.make({ instructions: "Look.", toolkit: kit }).pipe(Effect.provide(below))
      assert.strictEqual((yield* agent.run({ input: "go" })).text, "Done.")
      assert.deepStrictEqual(ran, ["look"])
    }))
})

describe("another attempt", () => {
  /** The reasons and delays of the retries of a run that succeeds in the end, and its answer. */
  const retried = Effect.fnUntraced(function*(...replies: ReadonlyArray<OpenAi.Reply>) {
    const { agent, server, used } = yield* place(Sdk.anthropic, ...replies, done)
    const run = yield* agent.start({ input: "go" })
    const retries: Array<readonly [tag: string, delay: number]> = []
    yield* run.events.pipe(Stream.runForEach((event) => {
      if (event._tag !== "RetryScheduled") return Effect.void
      retries.push([event.error._tag, event.delay])
      const turn = Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      return Effect.andThen(turn, TestClock.adjust(event.delay))
    }))
    const { text } = yield* run.result
    return { retries, text, used, requests: server.requests.length }
  })

  it.effect.each<readonly [number, object]>([[529, overloaded], [429, Sdk.apiError("rate_limit_error", "slow down")]])(
    "after a %s is made when the provider says",
    ([code, body]) =>
      Effect.gen(function*() {
        const { requests, retries, text } = yield* retried(OpenAi.status(code, body, { "retry-after": "7" }))
        const tag = code === 529 ? "Overloaded" : "RateLimited"
        assert.deepStrictEqual([retries, text, requests], [[[tag, 7000]], "Done.", 2])
      })
  )

  it.effect.each<readonly [string, string, OpenAi.Reply]>([
    ["an error in the stream", "Overloaded", OpenAi.events(Sdk.named(...half, overloaded))],
    ["a cut", "StreamTruncated", OpenAi.events(Sdk.named(...half))],
    ["a finish without a reason", "StreamTruncated", OpenAi.events(Sdk.named(...half, ...Sdk.finish(null)))],
    ["a reset", "StreamTruncated", OpenAi.reset(Sdk.named(...half))]
  ])("is made after %s, whose text is dropped and whose calls do not run", ([, tag, reply]) =>
    Effect.gen(function*() {
      const { requests, retries, text, used } = yield* retried(reply)
      assert.deepStrictEqual(retries.map(([tag]) => tag), [tag])
      assert.deepStrictEqual([text, used, requests], ["Done.", [], 2])
    }))
})

it.live("the server sees the close before the end of an aborted run is emitted", () =>
  Effect.gen(function*() {
    const { agent, server } = yield* place(
      Sdk.anthropic,
      OpenAi.open(Sdk.named(Sdk.begin(), ...Sdk.says(0, "Once")))
    )
    const run = yield* agent.start({ input: "A long one." })
    const seen: Array<readonly [tag: string, hasLeft: boolean]> = []
    yield* run.events.pipe(Stream.runForEach((event) => {
      seen.push([event._tag, Deferred.isDoneUnsafe(server.left)])
      return event._tag === "TextDelta" ? Effect.forkChild(run.abort) : Effect.void
    }))
    assert.deepStrictEqual(seen.at(-1), ["RunAborted", true])
    assert.isFalse(seen.some(([tag, hasLeft]) => tag === "TextDelta" && hasLeft))
  }))

const late = OpenAi.late(Sdk.named(Sdk.begin(), ...Sdk.says(0, "Hi")), Sdk.named(...Sdk.finish("end_turn")))

it.live("one connection carries all calls of a conversation whose responses end", () =>
  Effect.gen(function*() {
    const { agent, server } = yield* place(Sdk.anthropic, late)
    for (const _ of Array(5)) yield* agent.run({ input: "hello", sessionId: "s" })
    assert.deepStrictEqual(server.requests.map(({ connection }) => connection), [1, 1, 1, 1, 1])
  }))

it.live.each(["index.ts", "node/index.ts", "ai-sdk/index.ts"])(
  "loading %s loads nothing of the AI SDK",
  (entry) =>
    Effect.gen(function*() {
      const hook = `import { registerHooks } from "node:module"
      registerHooks({
        resolve: (name, context, next) => {
          if (/^(@ai-sdk|zod)\\b/.test(name)) console.log("loads " + name)
          return next(name, context)
        }
      })`
      const { stdout } = yield* Effect.promise(() =>
        promisify(execFile)(process.execPath, [
          "--disable-warning=ExperimentalWarning",
          `--import=data:text/javascript,${encodeURIComponent(hook)}`,
          "--input-type=module",
          "-e",
          `await import(${JSON.stringify(join(import.meta.dirname, "../../src", entry))}); console.log("loaded")`
        ])
      )
      assert.strictEqual(stdout, "loaded\n")
    })
)
