/** Changes go to the registry of their target, which owns the series, with the attributes that the target adds. */
import { assert, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as Family from "../../../src/loop/observe/Family.ts"
import * as Measured from "../../support/Measured.ts"

const targetOf = ({ registry }: Measured.Measured, added: Metric.Metric.AttributeSet = {}) =>
  Family.targetOf(
    Context.make(Metric.MetricRegistry, registry).pipe(Context.add(Metric.CurrentMetricAttributes, added))
  )

const counted = Family.counter("test.counted", "Things")({ kind: "a" })
const level = Family.gauge("test.level", "Things")({ kind: "a" })

it.effect("a series is that of the metric of its name, and accumulates", () =>
  Effect.gen(function*() {
    const measured = Measured.make()
    yield* Effect.provideService(
      Metric.update(Metric.counter("test.counted", { description: "Things", attributes: { kind: "a" } }), 5),
      Metric.MetricRegistry,
      measured.registry
    )
    const target = targetOf(measured)
    counted(1, target)
    counted(2, target)
    level(3, target)
    level(-1, target)
    assert.deepStrictEqual(yield* measured.read(/^test/), ["test.counted{kind=a} 8", "test.level{kind=a} 2"])
  }))

it.effect("what the target adds separates series, however targets alternate", () =>
  Effect.gen(function*() {
    const [one, other] = [Measured.make(), Measured.make()]
    const targets = [targetOf(one), targetOf(one, { host: "x" }), targetOf(other, { host: "y" })]
    for (let round = 0; round < 2; round++) for (const target of targets) counted(1, target)
    assert.deepStrictEqual(
      yield* one.read(/^test/),
      ["test.counted{kind=a} 2", "test.counted{kind=a,host=x} 2"].toSorted()
    )
    assert.deepStrictEqual(yield* other.read(/^test/), ["test.counted{kind=a,host=y} 2"])
  }))

it.effect("a series that was removed from its registry starts afresh", () =>
  Effect.gen(function*() {
    const measured = Measured.make()
    const target = targetOf(measured)
    counted(7, target)
    measured.registry.clear()
    counted(1, target)
    counted(1, target)
    assert.deepStrictEqual(yield* measured.read(/^test/), ["test.counted{kind=a} 2"])
  }))
