/** A file's base64 may have line breaks, the alphabet of URLs, or no padding: providers take none of these, so it is sent without. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ModelOpenAi from "../../src/layers/ModelOpenAi.ts"
import * as OpenAi from "../support/OpenAiServer.ts"
import * as TestAgent from "../support/TestAgent.ts"

const bytes = Uint8Array.from({ length: 100 }, (_, i) => (i * 37 + 251) % 256)
const whole = Buffer.from(bytes).toString("base64")

it.live.each<readonly [string, string]>([
  ["with line breaks", whole.replace(/.{76}/g, "$&\n")],
  ["in the alphabet of URLs, without padding", Buffer.from(bytes).toString("base64url")],
  ["as every provider takes it", whole],
  ["in a data URL, with line breaks", `data:image/png;base64,${whole.replace(/.{76}/g, "$&\n")}`],
  ["in a data URL, in the alphabet of URLs", `data:image/png;base64,${Buffer.from(bytes).toString("base64url")}`],
  ["in a data URL, percent-encoded", `DATA:image/png; BASE64,${encodeURIComponent(whole)}`],
  ["in a data URL as every provider takes it", `data:image/png;base64,${whole}`]
])("a file given as base64 %s is sent as every provider takes it", ([, data]) =>
  Effect.gen(function*() {
    const server = yield* OpenAi.make(
      OpenAi.events(OpenAi.data(OpenAi.delta({ content: "A." }), OpenAi.finish("stop")))
    )
    const { agent } = yield* TestAgent.make([], {
      model: Layer.orDie(ModelOpenAi.layer({ model: "m", baseUrl: server.baseUrl, apiKey: OpenAi.key }))
    })
    yield* agent.run({ input: [{ role: "user", content: [{ type: "file", mediaType: "image/png", data }] }] })
    assert.strictEqual(
      server.requests[0]?.body.messages[1].content[0].image_url.url,
      `data:image/png;base64,${whole}`
    )
  }))
