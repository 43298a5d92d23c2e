/** Which model a name means, and what is known about it. */
import { assert, it } from "@effect/vitest"
import { ConfigProvider, Context, Effect } from "effect"
import * as ModelChoice from "../../../src/cli/model/ModelChoice.ts"
import * as Model from "../../../src/services/Model.ts"

const key = { OPENAI_API_KEY: "key", ANTHROPIC_API_KEY: "key" }

const build = (model: string | undefined, contextWindow: number | undefined, env: Record<string, string> = key) =>
  Effect.map(
    ModelChoice.build({ model, contextWindow, isModelOfSession: false }),
    (context) => Context.get(context, Model.Model).info
  ).pipe(
    Effect.scoped,
    Effect.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env })))
  )

for (const name of [undefined, "offline", "m", "anthropic/claude-x"]) {
  it.effect(`the model ${name ?? "that nobody named"} has the context window that was given`, () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* build(name, 1_234)).contextWindow, 1_234)
      assert.notStrictEqual((yield* build(name, undefined)).contextWindow, 1_234)
    }))
}

it.effect("a name with a provider's prefix is that provider's if its key is set, even beside a base URL", () =>
  Effect.gen(function*() {
    const { name, provider } = yield* build("anthropic/claude-x", undefined, {
      ...key,
      OPENAI_BASE_URL: "http://localhost:1/v1"
    })
    assert.deepStrictEqual([provider, name], ["anthropic.messages", "claude-x"])
  }))

it.effect("a key that cannot be sent is not blamed on the base URL", () =>
  Effect.gen(function*() {
    const { line } = yield* Effect.flip(build("m", undefined, { OPENAI_API_KEY: "a\nb" }))
    assert.include(line, "OPENAI_API_KEY")
    assert.notInclude(line, "OPENAI_BASE_URL")
  }))
