/** The span that a handler sees around it, in place of its call's. */
import { assert, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"
import * as Shield from "../../../src/layers/tools/Shield.ts"

it.effect.each([true, false])(
  "a handler's own spans are sampled as its call's is (%s)",
  (sampled) =>
    Effect.gen(function*() {
      const around = new Tracer.NativeSpan({
        name: "execute_tool work",
        parent: Option.none(),
        annotations: Context.empty(),
        links: [],
        startTime: 0n,
        kind: "internal",
        sampled
      })
      const context = Shield.over(Context.make(Tracer.ParentSpan, around) as Context.Context<never>)
      const own = yield* Effect.provideContext(Effect.makeSpan("own"), context)
      assert.strictEqual(own.sampled, sampled)
      const parent = Option.getOrThrow(own.parent)
      assert.deepStrictEqual([parent.traceId, parent.spanId], [around.traceId, around.spanId])
    })
)
