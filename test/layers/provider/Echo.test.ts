/** What was sent is redacted, however a provider quotes it. */
import { assert, describe, it } from "@effect/vitest"
import * as Echo from "../../../src/layers/provider/Echo.ts"
import type * as Json from "../../../src/layers/provider/Json.ts"
import * as Sentence from "../../../src/layers/provider/Sentence.ts"

const texts = [
  "My PIN is 4711,\ndo not tell",
  "It's my PIN 4711, do not tell",
  `It's my "PIN" 4711, do not tell`,
  `my "PIN" is 4711`,
  "C:\\back\\files\\new 4711",
  "tab\tand form\ffeed and back\bspace 4711",
  "Grüße, 4711 会话 👋",
  "\u001b[31mred\u001b[0m and a\u00a0space 4711",
  "if (a < b && b > c) return `/a/b` // 4711"
]

/** A text as Python's `repr` writes it. */
const repr = (text: string): string => {
  const quote = text.includes("'") && !text.includes("\"") ? "\"" : "'"
  const escapes: Record<string, string> = { "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r" }
  const hex = (char: string) => `\\x${char.charCodeAt(0).toString(16).padStart(2, "0")}`
  const isPrinted = (char: string) => char >= " " && (char < "\u007f" || char > "\u00a0")
  const inner = [...text].map((char) =>
    char === quote ? `\\${char}` : escapes[char] ?? (isPrinted(char) ? char : hex(char))
  ).join("")
  return quote + inner + quote
}

/** As Go and PHP write JSON. */
const go = (text: string): string =>
  JSON.stringify(text).replace(/[<>&]/g, (char) => `\\u00${char.charCodeAt(0).toString(16).toUpperCase()}`)
const php = (text: string): string => ascii(text).replaceAll("/", "\\/")

/** As Python's `json.dumps` writes it. */
const ascii = (text: string): string =>
  JSON.stringify(text).replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)

describe("a text that was sent", () => {
  it.for(texts)("is redacted as JSON, as JSON in a string, and as Python, Go and PHP write it: %j", (text) => {
    const json = JSON.stringify(text)
    for (const quote of [text, json, JSON.stringify(json), repr(text), repr(json), ascii(text), go(text), php(text)]) {
      const said = `not allowed: {'content': ${quote}}, try again`
      assert.notInclude(Echo.without(said, [text]), "4711", said)
      assert.include(Echo.without(said, [text]), "<redacted>")
      assert.include(Echo.without(said, [text]), "try again")
    }
  })

  it("is redacted as JSON in a string of JSON in a string", () => {
    let quote = "My PIN is 4711,\ndo not tell"
    const secret = quote
    for (let level = 1; level <= 4; level++) {
      quote = JSON.stringify(quote)
      assert.notInclude(Echo.without(`not allowed: ${quote}, try again`, [secret]), "4711", `level ${level}`)
    }
  })

  it("is redacted at every occurrence, also inside another one, and nothing else is", () => {
    const said = `a "line\\nof mine" b line\nof mine c \\"mine and more\\" d`
    assert.strictEqual(
      Echo.without(said, ["line\nof mine", "of mine", "mine and more"]),
      "a \"<redacted>\" b <redacted> c \\\"<redacted>\\\" d"
    )
    assert.strictEqual(Echo.without("C:\\new and C:\\\\new", ["C:\\new"]), "<redacted> and <redacted>")
    assert.strictEqual(Echo.without("nothing \\n of it", ["not there"]), "nothing \\n of it")
  })

  it("is not searched for in a shorter message", () => {
    const secrets = Array.from({ length: 2_000 }, () => "a line\n".repeat(1_000_000))
    assert.strictEqual(Echo.without("no", secrets), "no")
  })

  it("is redacted at the end of a sentence, with its own period", () => {
    const redact = (text: string) => Echo.without(text, ["My diagnosis is gout."])
    const said = (message: string) => Sentence.of("request", { host: "h", key: "K", message }, redact)
    assert.notInclude(said("Invalid content: My diagnosis is gout."), "gout")
    assert.include(said("That is too long."), ": That is too long (")
  })
})

describe("the texts that were sent", () => {
  it("are found at every depth, also of a text that is JSON", () => {
    const nested = (text: string) => `${"[".repeat(20_000)}${JSON.stringify(text)}${"]".repeat(20_000)}`
    const found = Echo.texts({ content: nested(nested("the launch code")) }, 8)
    assert.isTrue(found.includes("the launch code"))
  })

  it("are found in a list that is longer than a call has arguments", () => {
    const found = Echo.texts(JSON.stringify([...Array.from({ length: 500_000 }, () => 1), "the launch code"]), 8)
    assert.isTrue(found.includes("the launch code"))
  })

  it("are found in options that hold themselves", () => {
    const options: Json.JsonObject = { user: "the launch code" }
    options.self = [options]
    assert.isTrue(Echo.texts(options, 8).includes("the launch code"))
  })

  it("are settings, except for those that are a choice between words", () => {
    const settings = {
      user: "body-s3cr3t",
      metadata: { name: "Ada Byron", plan: "free" },
      service_tier: "standard_only",
      include: ["sources", "web.search", "reasoning.encrypted_content"]
    }
    assert.sameMembers([...new Set(Echo.ofSettings(settings))], [
      "body-s3cr3t",
      "Ada Byron",
      "reasoning.encrypted_content"
    ])
  })

  it("are looked for once, when there is something to redact", () => {
    let looked = 0
    const redact = Echo.redacting(() => {
      looked++
      return ["the launch code"]
    })
    assert.strictEqual(looked, 0)
    assert.deepStrictEqual([redact("no: the launch code"), redact("the launch code?")], [
      "no: <redacted>",
      "<redacted>?"
    ])
    assert.strictEqual(looked, 1)
  })
})

describe("a header's value", () => {
  it("is a secret with and without its scheme", () => {
    assert.deepStrictEqual(Echo.ofHeaders({ authorization: "Bearer abcdefghij", host: "api.openai.test" }), [
      "Bearer abcdefghij",
      "abcdefghij"
    ])
  })
})

describe("a part of an address's path", () => {
  const vertex = "https://us-central1-aiplatform.googleapis.com/v1/projects/my-project-123/locations/us-central1"
  const account = "0123456789abcdef0123456789abcdef"
  const bedrock = "anthropic.claude-sonnet-4-5-20250929-v1:0"
  const profile = "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-x-v1:0"
  const onBedrock = (model: string) =>
    `https://bedrock-runtime.us-east-1.amazonaws.com/model/${encodeURIComponent(model)}/converse-stream`

  it.each<readonly [of: string, model: string, url: string]>([
    ["OpenAI", "gpt-5.5", "https://api.openai.com/v1/chat/completions"],
    ["OpenRouter", "openai/gpt-4o", "https://openrouter.ai/api/v1"],
    ["a server of this machine", "llama-3.1-8b", "http://localhost:11434/v1"],
    [
      "an Azure deployment",
      "gpt-5.5",
      "https://x.openai.azure.com/openai/deployments/chat-prod-2/?api-version=2024-10-21"
    ],
    ["an Azure project", "gpt-5.5", "https://x.services.ai.azure.com/api/projects/project-1234/openai/v1"],
    ["Vertex's endpoint", "google/gemini-9", `${vertex}/endpoints/1234567890`],
    ["a model of Vertex", "gemini-9.5-pro", `${vertex}/publishers/google/models/gemini-9.5-pro:streamGenerateContent`],
    ["a publisher of Vertex", "x", `${vertex}/publishers/publisher-1/models/other-model-1:rawPredict`],
    [
      "a tuned model of Gemini",
      "tunedModels/mine-123",
      "https://g.test/v1beta/tunedModels/mine-123:streamGenerateContent"
    ],
    ["a model of Bedrock", bedrock, onBedrock(bedrock)],
    ["a profile of Bedrock", profile, onBedrock(profile)],
    ["a profile of Bedrock elsewhere", profile, onBedrock(profile).replace("/model/", "/of/")],
    ["a region", "m", "https://gateway.test/regions/eu-central-1/v1"],
    ["Hugging Face", "meta-llama/Llama-3.1-8B-Instruct", "https://h.test/models/meta-llama/Llama-3.1-8B-Instruct/v1"],
    ["a gateway for each model", "meta-llama/Llama-3.1-8B", "https://h.test/to/meta-llama/Llama-3.1-8B/v1"],
    ["a gateway for each model, encoded", "meta-llama/Llama-3.1-8B", "https://h.test/to/meta-llama%2FLlama-3.1-8B/v1"],
    [
      "Cloudflare, for the model",
      "@cf/meta/llama-3.1-8b-instruct",
      "https://c.test/ai/run/@cf/meta/llama-3.1-8b-instruct"
    ],
    ["an address without a digit", "m", "https://gateway.test/organisation/v1"],
    ["an address of fewer characters", "m", "https://gateway.test/abc-123/v1"]
  ])("is no secret: %s", (_, model, url) => {
    assert.deepStrictEqual(Echo.ofPath(new URL(url), model), [])
  })

  it.each<readonly [of: string, model: string, url: string, secrets: ReadonlyArray<string>]>([
    ["a key", "m-1", "https://gateway.test/sk-live-1234567/v1", ["sk-live-1234567"]],
    ["an account of Cloudflare's gateway", "m-1", `https://c.test/v1/${account}/my-gateway/openai`, [account]],
    ["an account of Cloudflare's models", "@cf/meta/llama-3.1-8b", `https://c.test/accounts/${account}/ai/run`, [
      account
    ]],
    ["one that begins with the model's name", "m", "https://gateway.test/m1234567890secret/v1", ["m1234567890secret"]],
    ["one with the model's name in it", "k", "https://gateway.test/sk-live-1234567/v1", ["sk-live-1234567"]],
    ["one after a word that only begins so", "m", "https://gateway.test/modelship/key-12345/v1", ["key-12345"]],
    ["one after the name of a deployment", "m", "https://a.test/deployments/chat-prod-2/key-12345", ["key-12345"]],
    ["one that is encoded", "m", "https://gateway.test/s3cret%40k3y/v1", ["s3cret%40k3y", "s3cret@k3y"]],
    ["one that is encoded wrongly", "m", "https://gateway.test/100%-s3cret%40k3y/v1", ["100%-s3cret%40k3y"]],
    ["none of so few characters once decoded", "m", "https://gateway.test/a%2F%2F1/v1", []]
  ])("is a secret: %s", (_, model, url, secrets) => {
    assert.deepStrictEqual(Echo.ofPath(new URL(url), model), secrets)
  })
})
