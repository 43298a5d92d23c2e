/** The span of a tool call, when content is recorded. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Tracer from "effect/Tracer"
import { RecordContent } from "../../../src/services/RecordContent.ts"
import * as Suspended from "../../support/Suspended.ts"
import * as Traces from "../../support/Traces.ts"

it.effect("it has the arguments that the call ran with, even if a person edited them", () =>
  Effect.gen(function*() {
    const traces = Traces.make()
    const suspended = yield* Suspended.make()
    yield* suspended.decide("1.0", { params: { n: 7 } })
    yield* suspended.resume().pipe(
      Effect.provideService(Tracer.Tracer, traces.tracer),
      Effect.provideService(RecordContent, true)
    )
    assert.strictEqual(traces.named("execute_tool work").attributes.get("gen_ai.tool.call.arguments"), `{"n":7}`)
  }))
