/** What the command says when its provider misbehaves: one line with the host and what to do. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Queue, type Scope } from "effect"
import { TestClock } from "effect/testing"
import * as Net from "node:net"
import * as Sdk from "../support/AiSdkServers.ts"
import * as OpenAi from "../support/OpenAiServer.ts"
import { workplace } from "./Invoke.ts"

const key = "sk-secret-0123456789"
const prompt = "the launch code is 0000"

/** One turn of the event loop: whoever has just announced a wait is waiting by then. */
const turn = Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))

/** Lets the time of every announced wait pass. */
const passing = Effect.fnUntraced(function*(waits: Queue.Dequeue<number>) {
  const millis = yield* Queue.take(waits)
  yield* turn
  yield* TestClock.adjust(millis)
})

/** How the command is given a model: the flag, and the settings for an address. */
interface Named {
  readonly model: string
  readonly env: (baseUrl: string) => Record<string, string>
}

const openAi: Named = { model: "m", env: (baseUrl) => ({ OPENAI_BASE_URL: baseUrl, OPENAI_API_KEY: key }) }

/** What the command says when asked to run a task with this base URL, and how often it announced a retry. */
const failing = Effect.fnUntraced(function*(baseUrl: string, { env, model }: Named = openAi) {
  const { run } = yield* workplace()
  const waits = yield* Queue.unbounded<number>()
  let retries = 0
  const onError = (text: string) => {
    const [, time, unit] = /^↻ .*; trying again in ([\d.]+) (ms|s)\n$/.exec(text) ?? []
    if (time === undefined) return
    retries++
    // what is shown is rounded
    Queue.offerUnsafe(waits, unit === "s" ? Number(time) * 1000 + 50 : Number(time) + 1)
  }
  yield* Effect.forkScoped(Effect.forever(passing(waits)))
  const { code, stderr, stdout } = yield* run(["--model", model, prompt], { env: env(baseUrl), onError })
  assert.deepStrictEqual([code, stdout], [1, ""])
  for (const secret of [key, "launch code"]) assert.notInclude(stderr, secret)
  return { stderr, retries }
})

/** The same, without what every failed run says. */
const lineOf = Effect.fnUntraced(function*(baseUrl: string, named?: Named) {
  const { retries, stderr } = yield* failing(baseUrl, named)
  const [line = "", ...more] = stderr.trimEnd().split("\n").filter((line) =>
    !/^(↻ |✗ failed · |Go on with: )/.test(line)
  )
  assert.deepStrictEqual(more, [])
  return { line, retries }
})

/** A port where something listens that is not an HTTP server. */
const listening = (onConnection: (socket: Net.Socket) => void): Effect.Effect<string, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(() =>
      new Promise<Net.Server>((resolve) => {
        const server = Net.createServer((socket) => onConnection(socket.on("error", () => {})))
        server.listen(0, "127.0.0.1", () => resolve(server))
      })
    ),
    (server) => Effect.promise(() => new Promise<void>((resolve) => server.close(() => resolve())))
  ).pipe(Effect.map((server) => `127.0.0.1:${(server.address() as Net.AddressInfo).port}`))

const page = (status: number): OpenAi.Reply => ({
  status,
  headers: { "content-type": "text/html" },
  pieces: ["<!doctype html>\n<html><title>Sign in</title></html>"],
  ending: "end"
})

const error = (message: string, code: string | null = null) => ({ error: { message, code, type: "any_error" } })
const begun = OpenAi.data(OpenAi.delta({ reasoning: "Once" }))
const slower = { "retry-after": "120" }
const oops = error("The server had an error.")

/** What a server answers, and the line after its host. */
const answers: ReadonlyArray<readonly [what: string, reply: OpenAi.Reply, said: string, retries: 0 | 3]> = [
  [
    "a web page",
    page(200),
    "answered with a web page instead of an event stream; check that the base URL is that of an OpenAI-compatible " +
    "API (most end in /v1) and that the model can stream",
    0
  ],
  [
    "a web page of a proxy that takes no more",
    page(413),
    "answered HTTP 413 (it is more than the server accepts: send less)",
    0
  ],
  ["a web page that is not found", page(404), "answered HTTP 404 (check the base URL and the name of the model)", 0],
  ["a web page of a proxy", page(502), "answered HTTP 502; given up after 4 attempts, try again later", 3],
  [
    "401",
    OpenAi.status(401, error(`Incorrect API key provided: ${key}.`, "invalid_api_key")),
    "answered HTTP 401: Incorrect API key provided: <redacted> (check OPENAI_API_KEY)",
    0
  ],
  [
    "403",
    OpenAi.status(403, error("You have no access\nto m")),
    "answered HTTP 403: You have no access to m (check what the API key may use)",
    0
  ],
  [
    "404 for the model",
    OpenAi.status(404, error("The model `m` does not exist", "model_not_found")),
    "answered HTTP 404: The model `m` does not exist (check the base URL and the name of the model)",
    0
  ],
  [
    "429 with a wait above the cap",
    OpenAi.status(429, error("Rate limit reached", "rate_limit_exceeded"), slower),
    "answered HTTP 429: Rate limit reached; given up after one attempt, try again in 2 min 0 s",
    0
  ],
  [
    "429 for a quota",
    OpenAi.status(429, error("You exceeded your current quota.", "insufficient_quota")),
    "answered HTTP 429: You exceeded your current quota; check the plan and billing of the provider",
    0
  ],
  [
    "400 for a long conversation",
    OpenAi.status(400, error("Maximum context length is 9 tokens", "context_length_exceeded")),
    "answered HTTP 400: Maximum context length is 9 tokens; ask for less, or start a new session by leaving --session out",
    0
  ],
  [
    "500",
    OpenAi.status(500, oops),
    "answered HTTP 500: The server had an error; given up after 4 attempts, try again later",
    3
  ],
  [
    "an error inside a stream",
    OpenAi.events(begun, OpenAi.data(oops)),
    "answered with an error: The server had an error; given up after 4 attempts, try again later",
    3
  ],
  [
    "half an answer",
    OpenAi.events(begun),
    "ended the stream before the answer was finished; the server or a proxy in front of it closed the connection early; " +
    "try again later; given up after 4 attempts",
    3
  ],
  [
    "half an answer and a reset",
    OpenAi.reset(begun),
    "reset the connection; try again later; if that does not help, check the port of the base URL and any proxies in " +
    "between (ECONNRESET); given up after 4 attempts",
    3
  ]
]

describe("a provider that answers with", () => {
  for (const [what, reply, said, retries] of answers) {
    it.effect(`${what} is reported on one line`, () =>
      Effect.gen(function*() {
        const server = yield* OpenAi.make(reply)
        const line = `fiberloop: ${server.host} ${said}`
        assert.deepStrictEqual(yield* lineOf(server.baseUrl), { line, retries })
        assert.strictEqual(server.requests.length, 1 + retries)
      }))
  }
})

/** Where nothing answers: the base URL for a host, and the line after it. */
const silences: ReadonlyArray<readonly [what: string, host: Effect.Effect<string, never, Scope.Scope>, said: RegExp]> =
  [
    [
      "that nobody listens on",
      Effect.scoped(listening(() => {})),
      /^refused the connection; check that the server runs and that the base URL names its port \(ECONNREFUSED\)$/
    ],
    [
      "that speaks no HTTP",
      listening((socket) => socket.resume().end("SSH-2.0-OpenSSH_9.6\r\n")),
      /^does not speak HTTP; check that the base URL names the right port \(HTTPParserError\)$/
    ],
    [
      "that closes at once",
      listening((socket) => socket.destroy()),
      /^(closed|reset) the connection; try again later; if that does not help, check the port of the base URL and [^;]+$/
    ],
    // the second on a machine without a name server
    [
      "of a host that is not known",
      Effect.succeed("no-such-host.invalid"),
      /^(was not found|could not be looked up); check/
    ]
  ]

const assertGivenUp = ({ line, retries }: Effect.Success<ReturnType<typeof lineOf>>, host: string, said: RegExp) => {
  const [, words = "", rest] = /^(.*)(; given up after 4 attempts)$/.exec(line) ?? []
  assert.deepStrictEqual([retries, rest], [3, "; given up after 4 attempts"], line)
  assert.isTrue(words.startsWith(`fiberloop: ${host} `), line)
  assert.match(words.slice(`fiberloop: ${host} `.length), said)
}

describe("a port", () => {
  for (const [what, hosted, said] of silences) {
    it.effect(`${what} is reported on one line`, () =>
      Effect.gen(function*() {
        const host = yield* hosted
        assertGivenUp(yield* lineOf(`http://${host}/v1`), host, said)
      }))
  }

  it.effect("that speaks no TLS is reported on one line", () =>
    Effect.gen(function*() {
      const { baseUrl, host } = yield* OpenAi.make(OpenAi.silence)
      const { line } = yield* lineOf(baseUrl.replace("http:", "https:"))
      assert.include(line, `${host} does not speak TLS; check whether the base URL begins with http: or https: (`)
    }))
})

describe("a proxy that the environment names", () => {
  const hint = /\nfiberloop: HTTPS_PROXY is set, but Node uses it only where NODE_USE_ENV_PROXY=1 is set, too\n/
  const proxy = { HTTPS_PROXY: "http://proxy.example:3128" }
  const said = (baseUrl: string, env: Record<string, string>) =>
    Effect.map(
      failing(baseUrl, { ...openAi, env: (baseUrl) => ({ ...openAi.env(baseUrl), ...env }) }),
      ({ stderr }) => stderr
    )

  it.effect("is said not to be used where the provider was not reached, unless Node was told to use it", () =>
    Effect.gen(function*() {
      const baseUrl = `http://${yield* listening((socket) => socket.destroy())}/v1`
      assert.match(yield* said(baseUrl, proxy), hint)
      assert.notMatch(yield* said(baseUrl, { ...proxy, NODE_USE_ENV_PROXY: "1" }), hint)
      assert.notMatch(yield* said(baseUrl, {}), hint)
    }))

  it.effect("is not mentioned where the provider answered", () =>
    Effect.gen(function*() {
      const { baseUrl } = yield* OpenAi.make(OpenAi.status(401, oops))
      assert.notMatch(yield* said(baseUrl, proxy), hint)
    }))
})

describe("a base URL", () => {
  for (const baseUrl of ["localhost:11434/v1", "nonsense", "ftp://user:password@host"]) {
    it.effect(`that is invalid is reported on one line: ${baseUrl}`, () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* lineOf(baseUrl), {
          line: "fiberloop: OPENAI_BASE_URL is not an http(s) URL: set one such as https://api.openai.com/v1 or " +
            "http://localhost:11434/v1",
          retries: 0
        })
      }))
  }
})

/** The same over the AI SDK: for each provider, its errors and what names its key. */
const bridged: ReadonlyArray<readonly [string, Named, (status: number, message: string) => object, string]> = [
  [
    "anthropic",
    {
      model: "anthropic/claude-x",
      env: (baseUrl) => ({ ANTHROPIC_API_KEY: key, ANTHROPIC_BASE_URL: baseUrl })
    },
    (status, message) => Sdk.apiError(status === 404 ? "not_found_error" : "authentication_error", message),
    "ANTHROPIC_API_KEY"
  ],
  [
    "google",
    {
      model: "google/gemini-x",
      env: (baseUrl) => ({ GOOGLE_GENERATIVE_AI_API_KEY: key, GOOGLE_GENERATIVE_AI_BASE_URL: baseUrl })
    },
    (code, message) => ({ error: { code, status: code === 404 ? "NOT_FOUND" : "UNAUTHENTICATED", message } }),
    "GOOGLE_GENERATIVE_AI_API_KEY"
  ]
]

describe.each(bridged)("a model of %s", (_, named, failure, keyName) => {
  it.effect.each(
    [
      [404, "no such model", "no such model (check the base URL and the name of the model)"],
      [401, `wrong: ${key}`, `wrong: <redacted> (check ${keyName})`]
    ] as const
  )(
    "that is answered with %s is reported on one line, after one request",
    ([status, message, said]) =>
      Effect.gen(function*() {
        const server = yield* OpenAi.make(OpenAi.status(status, failure(status, message)))
        const line = `fiberloop: ${server.host} answered HTTP ${status}: ${said}`
        assert.deepStrictEqual(yield* lineOf(server.baseUrl, named), { line, retries: 0 })
        assert.lengthOf(server.requests, 1)
      })
  )

  it.effect("whose base URL is a web page's is reported on one line, after one request", () =>
    Effect.gen(function*() {
      const server = yield* OpenAi.make(page(200))
      const said = "answered with a web page instead of an event stream; check the base URL"
      assert.deepStrictEqual(yield* lineOf(server.baseUrl, named), {
        line: `fiberloop: ${server.host} ${said}`,
        retries: 0
      })
      assert.lengthOf(server.requests, 1)
    }))

  it.effect("whose base URL leads elsewhere is reported on one line, after one request, and its key goes nowhere", () =>
    Effect.gen(function*() {
      const other = yield* OpenAi.make(OpenAi.silence)
      const location = `${other.baseUrl}/moved?token=${key}`
      const server = yield* OpenAi.make(OpenAi.status(307, "", { location }))
      const said =
        `redirects to ${other.baseUrl}/moved (HTTP 307), which is not followed; check the base URL, and if the `
        + "API has moved there, use that address"
      assert.deepStrictEqual(yield* lineOf(server.baseUrl, named), {
        line: `fiberloop: ${server.host} ${said}`,
        retries: 0
      })
      assert.deepStrictEqual([server.requests.length, other.requests.length], [1, 0])
    }))

  for (const [what, hosted, said] of silences) {
    it.effect(`whose port is one ${what} is reported on one line`, () =>
      Effect.gen(function*() {
        const host = yield* hosted
        assertGivenUp(yield* lineOf(`http://${host}/v1`, named), host, said)
      }))
  }
})
