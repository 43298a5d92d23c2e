/** A result, a failure and progress are kept in the JSON that a tool's schema is read from. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as ToolRun from "../support/ToolRun.ts"

const priced = { cents: 250n, until: Option.some(new Date(0)) }
const written = { cents: "250", until: { _tag: "Some", value: "1970-01-01T00:00:00.000Z" } }

describe.each(ToolRun.ways)("with handlers that are %s, values that plain JSON has not", (way) => {
  const { execute } = ToolRun.by(way)

  it.effect("are a result in the JSON of the success schema", () =>
    Effect.gen(function*() {
      const { outcome } = yield* execute("priced", { priced: () => Effect.succeed(priced) })
      assert.deepStrictEqual(outcome, { _tag: "Succeeded", result: written })
    }))

  it.effect.each(["priced", "refusing"] as const)(
    "are a failure of %s in the JSON of the failure schema",
    (name) =>
      Effect.gen(function*() {
        const { outcome } = yield* execute(name, { [name]: () => Effect.fail(priced) })
        assert.deepStrictEqual(outcome, ToolRun.failed(written))
      })
  )

  it.effect("are progress in the JSON of the success schema", () =>
    Effect.gen(function*() {
      const { progress } = yield* execute("priced", {
        priced: (_: unknown, { preliminary }: { preliminary: (value: unknown) => Effect.Effect<void> }) =>
          Effect.as(preliminary(priced), priced)
      })
      assert.deepStrictEqual(progress, [written])
    }))
})
