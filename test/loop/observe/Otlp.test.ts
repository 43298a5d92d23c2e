/** What a collector receives of a run over a provider's HTTP API: spans by the semantic conventions, and metrics. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { assert, it } from "@effect/vitest"
import * as Conventions from "@opentelemetry/semantic-conventions/incubating"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Otlp from "effect/observability/Otlp"
import * as PrometheusMetrics from "effect/observability/PrometheusMetrics"
import * as Schema from "effect/Schema"
import * as Agent from "../../../src/Agent.ts"
import * as Fiberloop from "../../../src/Fiberloop.ts"
import * as ModelOpenAi from "../../../src/layers/ModelOpenAi.ts"
import * as SessionStoreMemory from "../../../src/layers/SessionStoreMemory.ts"
import * as RetryPolicy from "../../../src/services/RetryPolicy.ts"
import * as OpenAiServer from "../../support/OpenAiServer.ts"
import * as OtlpCollector from "../../support/OtlpCollector.ts"

const parameters = Schema.Struct({ query: Schema.String })
const kit = Toolkit.make(
  Tool.make("search", { parameters, success: Schema.String }),
  Tool.make("fetch", { parameters, success: Schema.String, failure: Schema.String })
)

/** as OTLP counts them */
const client = 3
const ok = 1
const failed = 2

const { data, delta, done, events, finish, status, toolCalls, usage } = OpenAiServer

const call = (index: number, name: string) => ({
  index,
  id: `call_${index}`,
  type: "function",
  function: { name, arguments: JSON.stringify({ query: "q" }) }
})

const replies = [
  status(503, { error: { message: "overloaded" } }),
  events(
    data(toolCalls(call(0, "search"), call(1, "fetch"))),
    data(
      finish("tool_calls"),
      usage({ prompt_tokens: 100, completion_tokens: 20, prompt_tokens_details: { cached_tokens: 64 } })
    ),
    done
  ),
  events(
    data(delta({ content: "Here." })),
    data(
      finish("stop"),
      usage({ prompt_tokens: 150, completion_tokens: 9, completion_tokens_details: { reasoning_tokens: 4 } })
    ),
    done
  )
]

const observed = Effect.gen(function*() {
  const collector = yield* OtlpCollector.make
  const server = yield* OpenAiServer.make(...replies)
  const Model = ModelOpenAi.layer({ model: "m", baseUrl: server.baseUrl })
  const Telemetry = Otlp.layerJson({ baseUrl: collector.baseUrl, resource: { serviceName: "test" } }).pipe(
    Layer.provide(NodeHttpClient.layerUndici)
  )
  const handlers = kit.toLayer({
    search: () => Effect.withSpan(Effect.succeed("found"), "look it up"),
    fetch: () => Effect.fail("no such page")
  })
  const prometheus = yield* Effect.gen(function*() {
    const agent = yield* Agent.make({
      name: "helper",
      instructions: "Help.",
      toolkit: kit,
      toolPolicy: { maxParallel: 2 },
      retry: RetryPolicy.make({ base: "1 millis" })
    })
    const result = yield* agent.run({ sessionId: "s", runId: "r", input: "go" })
    assert.strictEqual(result.text, "Here.")
    return yield* PrometheusMetrics.format()
  }).pipe(
    Effect.withSpan("app"),
    Effect.provide(Layer.mergeAll(Fiberloop.layer, SessionStoreMemory.layer, Model, handlers)),
    Effect.provide(Telemetry),
    Effect.provideService(Metric.MetricRegistry, new Map())
  )
  return { collector, prometheus, port: Number(new URL(server.baseUrl).port) }
})

const known = new Set<unknown>(Object.values(Conventions))

/** One child: `chat` has the span of effect/ai, and the request. */
const chat = { "chat m": [{ "LanguageModel.streamText": [] }, { POST: [] }] }

it.live("a retry, two parallel tools and a failure are a tree of spans", () =>
  Effect.gen(function*() {
    const { collector } = yield* observed
    assert.deepStrictEqual(OtlpCollector.tree(collector.spans()), [{
      app: [{
        "invoke_agent helper": [
          { "SessionStore.open": [] },
          chat,
          chat,
          { "execute_tool search": [{ "look it up": [] }] },
          { "execute_tool fetch": [] },
          chat
        ]
      }]
    }])
    assert.strictEqual(new Set(collector.spans().map(({ traceId }) => traceId)).size, 1)
  }))

it.live("its spans have the attributes, kinds and states of the conventions", () =>
  Effect.gen(function*() {
    const { collector, port } = yield* observed
    const spans = collector.spans()
    const named = (name: string) => spans.filter((span) => span.name === name)
    for (const { attributes, name } of spans) {
      for (const key of Object.keys(attributes)) {
        if (/^(gen_ai|error|http|server|url)\./.test(key)) {
          assert.isTrue(known.has(key), `${key} of ${name} is not known`)
        }
      }
    }
    const inRun = { [Conventions.ATTR_GEN_AI_CONVERSATION_ID]: "s", "fiberloop.run.id": "r" }
    const model = {
      [Conventions.ATTR_GEN_AI_PROVIDER_NAME]: Conventions.GEN_AI_PROVIDER_NAME_VALUE_OPENAI,
      [Conventions.ATTR_GEN_AI_REQUEST_MODEL]: "m"
    }

    const [run] = named("invoke_agent helper")
    assert.deepStrictEqual(run?.attributes, {
      [Conventions.ATTR_GEN_AI_OPERATION_NAME]: Conventions.GEN_AI_OPERATION_NAME_VALUE_INVOKE_AGENT,
      [Conventions.ATTR_GEN_AI_AGENT_NAME]: "helper",
      ...model,
      ...inRun,
      "fiberloop.run.end": "completed",
      "fiberloop.run.reason": "stop",
      [Conventions.ATTR_GEN_AI_USAGE_INPUT_TOKENS]: 250,
      [Conventions.ATTR_GEN_AI_USAGE_OUTPUT_TOKENS]: 29,
      [Conventions.ATTR_GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS]: 64,
      [Conventions.ATTR_GEN_AI_USAGE_REASONING_OUTPUT_TOKENS]: 4
    })
    // the backoff is jittered
    const delay = run?.events[0]?.attributes["fiberloop.retry.delay"]
    assert.isAbove(Number(delay), 0)
    assert.deepStrictEqual(run?.events, [{
      name: "fiberloop.retry",
      attributes: {
        "fiberloop.turn": 1,
        "fiberloop.attempt": 1,
        [Conventions.ATTR_ERROR_TYPE]: "Overloaded",
        "fiberloop.retry.delay": delay,
        "fiberloop.retry.source": "backoff"
      }
    }])

    const chats = named("chat m").map(({ attributes, kind, status }) => {
      const { [Conventions.ATTR_GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK]: firstChunk, ...rest } = attributes
      return { kind, status, hasFirstChunk: Number(firstChunk) < 10, rest }
    })
    const asked = (turn: number, attempt: number) => ({
      [Conventions.ATTR_GEN_AI_OPERATION_NAME]: Conventions.GEN_AI_OPERATION_NAME_VALUE_CHAT,
      ...model,
      [Conventions.ATTR_GEN_AI_REQUEST_STREAM]: true,
      ...inRun,
      "fiberloop.turn": turn,
      "fiberloop.attempt": attempt
    })
    const answered = {
      [Conventions.ATTR_GEN_AI_RESPONSE_ID]: "chatcmpl-1",
      [Conventions.ATTR_GEN_AI_RESPONSE_MODEL]: "m-1"
    }
    assert.deepStrictEqual(chats, [
      {
        kind: client,
        status: { code: failed, message: "Overloaded" },
        hasFirstChunk: false,
        rest: { ...asked(1, 1), [Conventions.ATTR_ERROR_TYPE]: "Overloaded" }
      },
      {
        kind: client,
        status: { code: ok },
        hasFirstChunk: true,
        rest: {
          ...asked(1, 2),
          ...answered,
          [Conventions.ATTR_GEN_AI_RESPONSE_FINISH_REASONS]: ["tool_call"],
          [Conventions.ATTR_GEN_AI_USAGE_INPUT_TOKENS]: 100,
          [Conventions.ATTR_GEN_AI_USAGE_OUTPUT_TOKENS]: 20,
          [Conventions.ATTR_GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS]: 64
        }
      },
      {
        kind: client,
        status: { code: ok },
        hasFirstChunk: true,
        rest: {
          ...asked(2, 1),
          ...answered,
          [Conventions.ATTR_GEN_AI_RESPONSE_FINISH_REASONS]: ["stop"],
          [Conventions.ATTR_GEN_AI_USAGE_INPUT_TOKENS]: 150,
          [Conventions.ATTR_GEN_AI_USAGE_OUTPUT_TOKENS]: 9,
          [Conventions.ATTR_GEN_AI_USAGE_REASONING_OUTPUT_TOKENS]: 4
        }
      }
    ])

    const tool = (name: string, callId: string, sentId: string) => ({
      [Conventions.ATTR_GEN_AI_OPERATION_NAME]: Conventions.GEN_AI_OPERATION_NAME_VALUE_EXECUTE_TOOL,
      [Conventions.ATTR_GEN_AI_TOOL_NAME]: name,
      [Conventions.ATTR_GEN_AI_TOOL_TYPE]: "function",
      [Conventions.ATTR_GEN_AI_TOOL_CALL_ID]: sentId,
      "fiberloop.tool.call.id": callId,
      ...inRun,
      "fiberloop.turn": 1
    })
    const tools = spans.filter(({ name }) => name.startsWith("execute_tool"))
    assert.deepStrictEqual(tools.map(({ attributes, status }) => ({ attributes, status })), [
      {
        attributes: { ...tool("search", "1.0", "c00000400"), "fiberloop.tool.outcome": "Succeeded" },
        status: { code: ok }
      },
      {
        attributes: {
          ...tool("fetch", "1.1", "c00000401"),
          "fiberloop.tool.outcome": "Failed",
          [Conventions.ATTR_ERROR_TYPE]: "Failed"
        },
        status: { code: failed, message: "Failed" }
      }
    ])

    const request = {
      [Conventions.ATTR_HTTP_REQUEST_METHOD]: "POST",
      [Conventions.ATTR_SERVER_ADDRESS]: "127.0.0.1",
      [Conventions.ATTR_SERVER_PORT]: port,
      [Conventions.ATTR_URL_FULL]: `http://127.0.0.1:${port}/v1/chat/completions`
    }
    assert.deepStrictEqual(named("POST").map(({ attributes }) => attributes), [
      { ...request, [Conventions.ATTR_HTTP_RESPONSE_STATUS_CODE]: 503, [Conventions.ATTR_ERROR_TYPE]: "503" },
      { ...request, [Conventions.ATTR_HTTP_RESPONSE_STATUS_CODE]: 200 },
      { ...request, [Conventions.ATTR_HTTP_RESPONSE_STATUS_CODE]: 200 }
    ])
  }))

it.live("its metrics are exported, and read by Prometheus", () =>
  Effect.gen(function*() {
    const { collector, prometheus } = yield* observed
    const model = `gen_ai_operation_name="chat",gen_ai_provider_name="openai",gen_ai_request_model="m"`
    const lines = prometheus.split("\n").filter((line) =>
      !/^#|_bucket\{|(duration|first_chunk)_sum\{/.test(line) && line !== ""
    )
    assert.deepStrictEqual(
      lines.sort(),
      [
        `fiberloop_attempts{${model},error_type="Overloaded"} 1`,
        `fiberloop_attempts{${model}} 2`,
        `fiberloop_retries{error_type="Overloaded"} 1`,
        `fiberloop_run_duration_count{gen_ai_agent_name="helper",end="completed"} 1`,
        `fiberloop_run_tool_rounds_count{gen_ai_agent_name="helper"} 1`,
        `fiberloop_run_tool_rounds_sum{gen_ai_agent_name="helper"} 1`,
        `fiberloop_run_turns_count{gen_ai_agent_name="helper"} 1`,
        `fiberloop_run_turns_sum{gen_ai_agent_name="helper"} 2`,
        `fiberloop_runs_live{gen_ai_agent_name="helper"} 0`,
        `fiberloop_runs{gen_ai_agent_name="helper",end="completed",reason="stop"} 1`,
        `fiberloop_tokens{${model},kind="cached_input"} 64`,
        `fiberloop_tokens{${model},kind="input"} 250`,
        `fiberloop_tokens{${model},kind="output"} 29`,
        `fiberloop_tokens{${model},kind="reasoning"} 4`,
        `fiberloop_tool_calls{gen_ai_tool_name="fetch",fiberloop_tool_outcome="Failed"} 1`,
        `fiberloop_tool_calls{gen_ai_tool_name="search",fiberloop_tool_outcome="Succeeded"} 1`,
        `fiberloop_tool_duration_count{gen_ai_tool_name="fetch",fiberloop_tool_outcome="Failed"} 1`,
        `fiberloop_tool_duration_count{gen_ai_tool_name="search",fiberloop_tool_outcome="Succeeded"} 1`,
        `gen_ai_client_operation_duration_count{${model},error_type="Overloaded"} 1`,
        `gen_ai_client_operation_duration_count{${model}} 2`,
        `gen_ai_client_operation_time_to_first_chunk_count{${model}} 2`,
        `gen_ai_client_token_usage_count{${model},gen_ai_token_type="input"} 2`,
        `gen_ai_client_token_usage_count{${model},gen_ai_token_type="output"} 2`,
        `gen_ai_client_token_usage_sum{${model},gen_ai_token_type="input"} 250`,
        `gen_ai_client_token_usage_sum{${model},gen_ai_token_type="output"} 29`
      ].sort()
    )
    const exported = collector.metrics()
    for (const name of exported) {
      if (name.startsWith("gen_ai.")) assert.isTrue(known.has(name), `${name} is not known`)
    }
    assert.includeMembers([...exported], ["fiberloop.runs", Conventions.METRIC_GEN_AI_CLIENT_OPERATION_DURATION])
  }))
