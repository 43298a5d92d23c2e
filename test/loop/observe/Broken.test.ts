/** A tracer, a registry or a logger that breaks: the run continues as if it had not, and what it had begun still ends. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as Metric from "effect/Metric"
import * as References from "effect/References"
import * as Tracer from "effect/Tracer"
import * as ContextSummary from "../../../src/layers/ContextSummary.ts"
import { Hooks } from "../../../src/services/Hooks.ts"
import { Observers } from "../../../src/services/Observers.ts"
import * as ScriptedModel from "../../../src/testing/ScriptedModel.ts"
import * as Condensing from "../../support/Condensing.ts"
import * as Measured from "../../support/Measured.ts"
import * as Overflows from "../../support/Overflows.ts"
import * as TestAgent from "../../support/TestAgent.ts"
import * as Traces from "../../support/Traces.ts"

const boom = (): never => {
  throw new Error("SECRET")
}

/** A run with every kind of span in it, in which a call waits for nobody, and its outcome. */
const run = Effect.gen(function*() {
  const made = yield* Condensing.make(
    [Overflows.overflow, TestAgent.work(1), ScriptedModel.text("done")],
    ContextSummary.layer,
    [ScriptedModel.text("They talked.")]
  )
  return (yield* Overflows.run(made, { history: Overflows.history(12) })).end
})

const listening = () => {
  const said: Array<string> = []
  return { said, layer: Logger.layer([Logger.make(({ message }) => void said.push(String(message)))]) }
}

const ours = ["invoke_agent test/Tested", "chat scripted", "compact_context", "chat condenser", "execute_tool work"]

describe("a tracer", () => {
  /** Spans whose `method` throws. */
  const breaking = (method: "attribute" | "event") => {
    const spans: Array<Tracer.NativeSpan> = []
    class Broken extends Tracer.NativeSpan {
      constructor(options: ConstructorParameters<typeof Tracer.NativeSpan>[0]) {
        super(options)
        spans.push(this)
      }
    }
    Broken.prototype[method] = boom
    return { spans, tracer: Tracer.make({ span: (options) => new Broken(options) }) }
  }

  it.effect.each(["attribute", "event"] as const)(
    "whose spans take no %s still ends all of them",
    (method) =>
      Effect.gen(function*() {
        const { said, layer } = listening()
        const { spans, tracer } = breaking(method)
        const end = yield* run.pipe(Effect.provideService(Tracer.Tracer, tracer), Effect.provide(layer))
        assert.strictEqual(end, "RunCompleted(stop)")
        const states = spans.filter(({ name }) => ours.includes(name)).map((span) => [span.name, Traces.stateOf(span)])
        assert.sameMembers(states.map(([name]) => name), [...ours, "chat scripted", "chat scripted"])
        assert.deepStrictEqual(states.filter(([, state]) => state === "open"), [])
        assert.isAbove(said.length, 0)
        for (const line of said) assert.match(line, /^the spans? (of run )?".*" failed and (is|are) incomplete$/)
      })
  )

  it.effect.each(ours.slice(1))("that begins no span %s still has the others", (name) =>
    Effect.gen(function*() {
      const { said, layer } = listening()
      const traces = Traces.make()
      const tracer = Tracer.make({ span: (options) => options.name === name ? boom() : traces.tracer.span(options) })
      const end = yield* run.pipe(Effect.provideService(Tracer.Tracer, tracer), Effect.provide(layer))
      assert.strictEqual(end, "RunCompleted(stop)")
      const names = new Set(traces.spans.map(({ name }) => name).filter((name) => ours.includes(name)))
      assert.deepStrictEqual([...names].toSorted(), ours.filter((other) => other !== name).toSorted())
      assert.deepStrictEqual(new Set(said), new Set([`the span "${name}" failed and is incomplete`]))
    }))
})

it.effect("a registry that refuses attempts still counts runs and questions as live no longer than they are", () =>
  Effect.gen(function*() {
    const measured = Measured.make()
    const { said, layer } = listening()
    class Broken extends Map<string, Metric.Metric.Metadata<any, any>> {
      override get(key: string) {
        return key.includes("fiberloop.attempts") ? boom() : measured.registry.get(key)
      }
      override set(key: string, value: Metric.Metric.Metadata<any, any>) {
        measured.registry.set(key, value)
        return this
      }
    }
    const end = yield* run.pipe(Effect.provideService(Metric.MetricRegistry, new Broken()), Effect.provide(layer))
    assert.strictEqual(end, "RunCompleted(stop)")
    assert.deepStrictEqual(yield* measured.read(/live/), ["runs.live{name=test/Tested} 0"])
    assert.strictEqual(said.length, 1)
    assert.match(said[0]!, /^the metrics of run ".*" failed and are incomplete$/)
  }))

describe("a logger that breaks", () => {
  const broken = Logger.layer([Logger.make(boom)])
  const breaks: Record<string, <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>> = {
    "debug lines": Effect.provideService(References.MinimumLogLevel, "Debug"),
    "the warning of a hook that failed": Effect.provideService(Hooks, [
      { name: "h", kind: "observer", afterModelCall: () => Effect.die("SECRET") }
    ]),
    "the warning of an observer that failed": Effect.provideService(Observers, [
      { name: "o", observe: () => Effect.die("SECRET") }
    ]),
    "the warning of a span that broke": Effect.provideService(
      Tracer.Tracer,
      Tracer.make({ span: (options) => options.name.startsWith("chat") ? boom() : new Tracer.NativeSpan(options) })
    ),
    "the warning of metrics that broke": Effect.provideService(
      Metric.MetricRegistry,
      new (class extends Map<string, never> {
        override get = boom
      })()
    )
  }

  it.effect.each(Object.entries(breaks))("at %s changes nothing of a run", ([, within]) =>
    Effect.gen(function*() {
      const made = yield* TestAgent.make([TestAgent.work(1), ScriptedModel.text("done")])
      const result = yield* within(made.agent.run({ input: "go" })).pipe(Effect.provide(broken))
      assert.strictEqual(result.text, "done")
    }))
})
