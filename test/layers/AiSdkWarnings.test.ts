/** The packages of the AI SDK quote what they leave out of a call in their warnings, which are logged: without what was said. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as References from "effect/References"
import { inspect } from "node:util"
import * as Sdk from "../support/AiSdkServers.ts"
import * as OpenAi from "../support/OpenAiServer.ts"

const reply = OpenAi.events(Sdk.named(Sdk.created, ...Sdk.writes(0, "Hi"), Sdk.completed()))
const responses: Sdk.Maker = (server) => Sdk.responses(server, "gpt-5")

it.effect("a warning is logged without the conversation that it quotes", () =>
  Effect.gen(function*() {
    const thought = "Ada Byron's heart fails, and she must not know of it."
    const lines: Array<string> = []
    const { parts } = yield* Sdk.answer(responses, reply, {
      prompt: [
        { role: "user", content: "How is she?" },
        { role: "assistant", content: [{ type: "reasoning", text: thought }, { type: "text", text: "Well enough." }] },
        { role: "user", content: "Sure?" }
      ]
    }).pipe(
      Effect.provide(Logger.layer([Logger.make(({ message }) => void lines.push(inspect(message, { depth: 20 })))])),
      Effect.provideService(References.MinimumLogLevel, "Debug")
    )
    const said = lines.join("\n") + JSON.stringify(OpenAi.finishOf(parts)?.metadata)
    assert.include(said, "reasoning parts are not supported")
    assert.notInclude(said, "Ada Byron")
  }))

it.effect("a warning keeps its type, whatever was said", () =>
  Effect.gen(function*() {
    const { parts } = yield* Sdk.answer(responses, reply, { prompt: "unsupported" }, { settings: { topK: 3 } })
    const warnings = [{ type: "unsupported", feature: "topK" }]
    assert.deepInclude(OpenAi.finishOf(parts)?.metadata["aisdk"], { warnings })
  }))

it.effect("a call with a warning is answered, though a text of it is JSON that is nested more deeply than a stack holds", () =>
  Effect.gen(function*() {
    const prompt = `${"[".repeat(20_000)}${"]".repeat(20_000)}`
    const { error, parts } = yield* Sdk.answer(responses, reply, { prompt }, { settings: { topK: 3 } })
    assert.deepStrictEqual([error, OpenAi.text(parts)], [undefined, "Hi"])
  }))
