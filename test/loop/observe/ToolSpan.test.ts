/** The span of a tool call: the id that it shares with messages, and what it has when content is recorded. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Tracer from "effect/Tracer"
import { RecordContent } from "../../../src/services/RecordContent.ts"
import * as ScriptedModel from "../../../src/testing/ScriptedModel.ts"
import * as Suspended from "../../support/Suspended.ts"
import * as TestAgent from "../../support/TestAgent.ts"
import * as Traces from "../../support/Traces.ts"

/** Shows the spans with their content to this tracer. */
const seenBy = ({ tracer }: Traces.Traces) => <A, E, R>(self: Effect.Effect<A, E, R>) =>
  self.pipe(Effect.provideService(Tracer.Tracer, tracer), Effect.provideService(RecordContent, true))

/** The attribute of each span of this name, in the order in which they began. */
const attributesOf = ({ spans }: Traces.Traces, span: string, attribute: string) =>
  spans.filter(({ name }) => name === span).map(({ attributes }) => attributes.get(attribute))

/** The ids of the parts of this type in an attribute of each try at a model call. */
const idsIn = (traces: Traces.Traces, attribute: string, type: string) =>
  attributesOf(traces, "chat scripted", attribute).map((json) =>
    JSON.parse(String(json)).flatMap(({ parts }: { readonly parts: ReadonlyArray<{ type: string; id: string }> }) =>
      parts.filter((part) => part.type === type).map(({ id }) => id)
    )
  )

it.effect("it has the id that the call has in the answer and in later messages, whatever the model named it", () =>
  Effect.gen(function*() {
    const traces = Traces.make()
    const { agent } = yield* TestAgent.make([
      [TestAgent.work(1, "call_0"), TestAgent.work(2, "call_1")],
      TestAgent.work(3, "call_0"),
      ScriptedModel.text("done")
    ])
    yield* agent.run({ input: "go" }).pipe(seenBy(traces))
    const ids = attributesOf(traces, "execute_tool work", "gen_ai.tool.call.id")
    assert.lengthOf(new Set(ids), 3)
    const [first, second, third] = ids
    assert.deepStrictEqual(idsIn(traces, "gen_ai.output.messages", "tool_call"), [[first, second], [third], []])
    for (const type of ["tool_call", "tool_call_response"]) {
      assert.deepStrictEqual(idsIn(traces, "gen_ai.input.messages", type), [[], [first, second], [
        first,
        second,
        third
      ]])
    }
    assert.deepStrictEqual(attributesOf(traces, "execute_tool work", "fiberloop.tool.call.id"), ["1.0", "1.1", "2.0"])
  }))

it.effect("it has the id of an answer that an earlier drive got", () =>
  Effect.gen(function*() {
    const [asking, going] = [Traces.make(), Traces.make()]
    const suspended = yield* Suspended.make().pipe(seenBy(asking))
    yield* suspended.decide("1.0")
    const other = yield* Suspended.elsewhere(suspended)
    yield* other.resume().pipe(seenBy(going))
    const ids = attributesOf(going, "execute_tool work", "gen_ai.tool.call.id")
    assert.deepStrictEqual(idsIn(asking, "gen_ai.output.messages", "tool_call"), [ids])
    assert.deepStrictEqual(idsIn(going, "gen_ai.input.messages", "tool_call_response"), [ids])
  }))

it.effect("it has the arguments that the call ran with, even if a person edited them", () =>
  Effect.gen(function*() {
    const traces = Traces.make()
    const suspended = yield* Suspended.make()
    yield* suspended.decide("1.0", { params: { n: 7 } })
    yield* suspended.resume().pipe(seenBy(traces))
    assert.strictEqual(traces.named("execute_tool work").attributes.get("gen_ai.tool.call.arguments"), `{"n":7}`)
  }))
