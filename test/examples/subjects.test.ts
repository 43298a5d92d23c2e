/** examples/subjects.ts in processes that are killed. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as CrashSweep from "../../src/testing/CrashSweep.ts"

/** What processes started meanwhile preload. */
const preloaded = (module: URL) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const before = process.env["NODE_OPTIONS"]
      process.env["NODE_OPTIONS"] = `${before ?? ""} --import ${module.href}`
      return before
    }),
    (before) =>
      Effect.sync(() => {
        if (before === undefined) delete process.env["NODE_OPTIONS"]
        else process.env["NODE_OPTIONS"] = before
      })
  )

it.live(
  "its payer pays once, though it is killed right after that",
  () =>
    Effect.gen(function*() {
      yield* preloaded(new URL("./Source.ts", import.meta.url))
      const module = new URL("../../examples/subjects.ts", import.meta.url)
      // the points before the session is opened, and after the payment
      const report = yield* CrashSweep.sweep({ module, goOn: ["resume"], every: 9 })
      assert.deepStrictEqual(report, { points: 2, failures: [] })
    }),
  300_000
)
