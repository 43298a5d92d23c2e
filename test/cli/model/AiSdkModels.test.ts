/** Models named after their provider, through its AI SDK package: the whole command against a loopback server. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Sdk from "../../support/AiSdkServers.ts"
import * as OpenAi from "../../support/OpenAiServer.ts"
import * as Child from "../Child.ts"
import { idOf, workplace } from "../Invoke.ts"
import * as Replies from "../Replies.ts"
import { sandbox } from "../tools/files/Sandbox.ts"

const anthropic = ({ baseUrl }: OpenAi.Server) => ({ ANTHROPIC_API_KEY: Sdk.key, ANTHROPIC_BASE_URL: baseUrl })
const google = ({ baseUrl }: OpenAi.Server) => ({
  GOOGLE_GENERATIVE_AI_API_KEY: Sdk.key,
  GOOGLE_GENERATIVE_AI_BASE_URL: baseUrl
})

const look = Sdk.message(
  "tool_use",
  Sdk.thinks(0, "I look.", "SIG"),
  Sdk.calls(1, "toolu_1", "list_files", "{\"path\"", ":\".\"}")
)

describe("a model of Anthropic", () => {
  it.effect("looks at the files, thinks, and answers", () =>
    Effect.gen(function*() {
      const server = yield* OpenAi.make(look, Sdk.message("end_turn", Sdk.says(0, "There is ", "a.txt.")))
      const { run } = yield* workplace({ "a.txt": "a\n" })
      const { code, stderr, stdout } = yield* run(["--model", "anthropic/claude-x", "which files?"], {
        env: anthropic(server)
      })
      assert.deepStrictEqual([code, stdout], [0, "There is a.txt.\n"], stderr)
      assert.deepStrictEqual(server.requests.map(({ body, url }) => [url, body.model]), [
        ["/v1/messages", "claude-x"],
        ["/v1/messages", "claude-x"]
      ])
      assert.strictEqual(server.requests[0]?.headers["x-api-key"], Sdk.key)
      assert.include(server.requests[1]?.text, "\"signature\":\"SIG\"")
    }))

  it.effect("is told what of the conversation to cache for the next call", () =>
    Effect.gen(function*() {
      const server = yield* OpenAi.make(look, Sdk.message("end_turn", Sdk.says(0, "Done.")))
      const { run } = yield* workplace({ "a.txt": "a\n" })
      yield* run(["--model", "anthropic/claude-x", "which files?"], { env: anthropic(server) })
      const { messages, system, tools } = server.requests[1]!.body
      const marks = [tools.at(-1), system.at(-1), messages[0].content.at(-1), messages.at(-1).content.at(-1)]
      assert.deepStrictEqual(marks.map(({ cache_control }: any) => cache_control?.type), Array(4).fill("ephemeral"))
    }))

  it.effect("keeps answering in its session when no model is named", () =>
    Effect.gen(function*() {
      const server = yield* OpenAi.make(look, Sdk.message("end_turn", Sdk.says(0, "Done.")))
      const { on, run } = yield* workplace({ "a.txt": "a\n" })
      const env = anthropic(server)
      const first = yield* run(["--model", "anthropic/claude-x", "--max-turns", "1", "which files?"], { env })
      const id = idOf(first)
      assert.include(first.stderr, "--model anthropic/claude-x")
      const { code, stderr, stdout } = yield* on("resume", [id, "--max-turns", "5"], { env })
      assert.deepStrictEqual([code, stdout], [0, "Done.\n"], stderr)
      assert.include(stderr, "no model is named, so \"anthropic/claude-x\" answers, as it did in this session")
      assert.include(server.requests[1]?.text, "\"signature\":\"SIG\"")
    }))

  it.effect("is not asked in a session where a server answered by its name, nor the server where the model did", () =>
    Effect.gen(function*() {
      const claude = yield* OpenAi.make(Sdk.message("end_turn", Sdk.says(0, "Done.")))
      const server = yield* OpenAi.make(Replies.says("Hello."))
      const flags = ["--model", "anthropic/claude-x"]
      const both = { ...anthropic(claude), ...Replies.env(server) }
      const place = yield* workplace()
      const served = idOf(yield* place.run([...flags, "hi"], { env: Replies.env(server) }))
      const refused = yield* place.run(["--session", served, "and?"], { env: both })
      assert.deepStrictEqual([refused.code, refused.stdout], [1, ""])
      assert.include(
        refused.stderr,
        `in session "${served}" the model "anthropic/claude-x" was asked of an OpenAI-compatible server, and would be asked of the ` +
          "provider anthropic now: unset ANTHROPIC_API_KEY, or choose with --model anthropic/claude-x\n"
      )
      const gone = yield* place.run(["--session", served, "and?"], { env: {} })
      assert.include(gone.stderr, "now: set OPENAI_BASE_URL, or choose with")
      assert.lengthOf(claude.requests, 0)
      const answered = idOf(yield* place.run([...flags, "hi"], { env: both }))
      const back = yield* place.run(["--session", answered, "and?"], { env: Replies.env(server) })
      assert.deepStrictEqual([back.code, back.stdout], [1, ""])
      assert.include(
        back.stderr,
        "was asked of the provider anthropic, and would be asked of an OpenAI-compatible server now: set ANTHROPIC_API_KEY"
      )
      assert.lengthOf(server.requests, 1)
    }))

  it.effect("whose key is refused is reported on one line, with what to check and without the key", () =>
    Effect.gen(function*() {
      const reply = OpenAi.status(401, Sdk.apiError("authentication_error", `invalid x-api-key: ${Sdk.key}`))
      const server = yield* OpenAi.make(reply)
      const { run } = yield* workplace()
      const { code, stderr } = yield* run(["--model", "anthropic/claude-x", "hi"], { env: anthropic(server) })
      assert.strictEqual(code, 1)
      const said = `${server.host} answered HTTP 401: invalid x-api-key: <redacted> (check ANTHROPIC_API_KEY)\n`
      assert.include(stderr, `fiberloop: ${said}`)
      assert.lengthOf(server.requests, 1)
    }))
})

describe("a model of Google", () => {
  it.effect("answers", () =>
    Effect.gen(function*() {
      const answer = Sdk.chunk([{ text: "Hello." }], { finishReason: "STOP" })
      const server = yield* OpenAi.make(OpenAi.events(OpenAi.data(answer)))
      const { run } = yield* workplace()
      const { code, stderr, stdout } = yield* run(["--model", "google/gemini-x", "hi"], { env: google(server) })
      assert.deepStrictEqual([code, stdout], [0, "Hello.\n"], stderr)
      assert.strictEqual(server.requests[0]?.url, "/v1/models/gemini-x:streamGenerateContent?alt=sse")
      assert.strictEqual(server.requests[0]?.headers["x-goog-api-key"], Sdk.key)
    }))
})

describe("a name with a provider's prefix", () => {
  it.effect("belongs to a server if there is a base URL and no key for that provider", () =>
    Effect.gen(function*() {
      const server = yield* OpenAi.make(Replies.says("Hello."))
      const { run } = yield* workplace()
      const { stdout } = yield* run(["--model", "anthropic/claude-x", "hi"], { env: Replies.env(server) })
      assert.deepStrictEqual([stdout, server.requests[0]?.body.model], ["Hello.\n", "anthropic/claude-x"])
    }))

  it.effect.each(["anthropic", "Anthropic/claude-x"])(
    "is a server's own if it is written otherwise: %s",
    (name) =>
      Effect.gen(function*() {
        const server = yield* OpenAi.make(Replies.says("Hello."))
        const { run } = yield* workplace()
        const env = { ...Replies.env(server), ANTHROPIC_API_KEY: Sdk.key }
        const { stdout } = yield* run(["--model", name, "hi"], { env })
        assert.deepStrictEqual([stdout, server.requests[0]?.body.model], ["Hello.\n", name])
      })
  )

  it.effect("belongs to an OpenAI-compatible server if nobody knows the prefix", () =>
    Effect.gen(function*() {
      const server = yield* OpenAi.make(Replies.says("Hello."))
      const { run } = yield* workplace()
      const { stdout } = yield* run(["--model", "constructor/m", "hi"], {
        env: { ...Replies.env(server), ANTHROPIC_API_KEY: Sdk.key }
      })
      assert.deepStrictEqual([stdout, server.requests[0]?.body.model], ["Hello.\n", "constructor/m"])
    }))
})

describe("is refused on one line", () => {
  const refused = (env: Record<string, string>, line: string, model = "anthropic/claude-x") =>
    Effect.gen(function*() {
      const { run } = yield* workplace()
      const { code, stderr, stdout } = yield* run(["--model", model, "hi"], { env })
      assert.deepStrictEqual([code, stdout, stderr], [1, "", `fiberloop: ${line}\n`])
    })
  const key = { ANTHROPIC_API_KEY: Sdk.key }

  it.effect("a model without a key", () =>
    refused(
      { ANTHROPIC_API_KEY: " " },
      "the model \"anthropic/claude-x\" needs a key: set ANTHROPIC_API_KEY, or give --model offline for the offline model"
    ))

  it.effect("a model of Google without a key", () =>
    refused(
      {},
      "the model \"google/gemini-x\" needs a key: set GOOGLE_GENERATIVE_AI_API_KEY, or give --model offline for the " +
        "offline model",
      "google/gemini-x"
    ))

  it.effect.each(
    [
      ["anthropic", "anthropic/<name>"],
      ["Anthropic/claude-x", "anthropic/claude-x"],
      ["GOOGLE", "google/<name>"]
    ] as const
  )("the name %s, of a provider rather than a model, with how to give it", ([name, meant]) =>
    refused(
      { ...key, OPENAI_API_KEY: "key" },
      `${JSON.stringify(name)} names no model: give --model ${meant}`,
      name
    ))

  it.effect("a key that no header can contain", () =>
    refused(
      { ANTHROPIC_API_KEY: "sk-ant\nsecret" },
      "ANTHROPIC_API_KEY holds characters that no header can carry: check it for spaces, line breaks and quotes"
    ))

  it.effect.each(["localhost:1234", "nonsense", "ftp://host/v1", "http://:secret@host/v1", "http://me@host/v1"])(
    "the base URL %s",
    (url) =>
      refused(
        { ...key, ANTHROPIC_BASE_URL: url },
        "ANTHROPIC_BASE_URL is not an http(s) URL without a password: set one such as https://api.anthropic.com/v1"
      )
  )

  it.live.each(["anthropic", "google"])(
    "a model of %s, whose package is not installed, with how to install it",
    (name) =>
      Effect.gen(function*() {
        const hook = `import { registerHooks } from "node:module"
        registerHooks({ resolve: (name, context, next) => next(name.replace("@ai-sdk/", "@is-not/there-"), context) })`
        const child = yield* Child.start(["run", "--model", `${name}/x`, "hi"], {
          cwd: yield* sandbox(),
          env: { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(hook)}` }
        })
        const { code, stderr, stdout } = yield* child.ended
        const line = `the model "${name}/x" needs a package that is not installed: npm install @ai-sdk/${name}@4`
        assert.deepStrictEqual([code, stdout, stderr], [1, "", `fiberloop: ${line}\n`])
      })
  )
})
