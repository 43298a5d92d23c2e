/** docs/observability.md has a row for every metric, with its kind, unit and attributes, and every attribute of spans. */
import { assert, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import * as Conventions from "../../src/loop/observe/Conventions.ts"
import * as Family from "../../src/loop/observe/Family.ts"
import * as Metrics from "../../src/loop/observe/Metrics.ts"

const page = readFileSync(join(import.meta.dirname, "../../docs/observability.md"), "utf8")

interface Row {
  readonly name: string
  /** with its unit */
  readonly kind: string
  /** those that any metric of the name may have, sorted */
  readonly attributes: ReadonlyArray<string>
}

const shown = (): ReadonlyArray<Row> => {
  const rows = [...page.matchAll(/^\| `([\w.]+)` \| (.+?) \| (.+) \|$/gm)]
  return rows.map(([, name, kind, attributes]) => ({
    name: name!,
    kind: kind!.replace(/, in the unit of your prices$/, ""),
    attributes: [...attributes!.replaceAll(/\(.+?\)/g, "").matchAll(/`([\w.]+)`/g)].map(([, key]) => key!).toSorted()
  }))
}

/** Moves one metric of every existing kind, in its own registry. */
const moved = Effect.gen(function*() {
  const registry: typeof Metric.MetricRegistry.Service = new Map()
  const context = Context.make(Metric.MetricRegistry, registry)
  const agent = Metrics.ofAgent("app/Docs")
  const ended = agent.ended("completed stop")
  const model = Metrics.ofModel({ provider: "scripted", name: "docs" })
  const discarded = model.discarded("Overloaded")
  const tool = Metrics.ofTool("search")("Succeeded")
  const changes = [
    agent.live,
    agent.turns,
    agent.toolRounds,
    agent.waiting,
    agent.asked,
    agent.approved,
    agent.denied,
    agent.expired,
    agent.unanswered,
    agent.lost("StoreUnavailable"),
    ended.count,
    ended.duration,
    model.settled.count,
    model.settled.duration,
    discarded.count,
    discarded.duration,
    model.firstChunk,
    model.inputUsage,
    model.outputUsage,
    ...Object.values(model.spending),
    ...Object.values(Metrics.onCompaction),
    tool.count,
    tool.duration,
    Metrics.retried("Overloaded"),
    Metrics.compacted("window")
  ]
  const target = Family.targetOf(context)
  for (const change of changes) change(1, target)
  return yield* Effect.provideService(Metric.snapshot, Metric.MetricRegistry, registry)
})

it.effect("docs/observability.md has every metric with its kind, unit and attributes", () =>
  Effect.gen(function*() {
    const known = new Map<string, Row>()
    for (const { attributes = {}, id, type } of yield* moved) {
      const { unit, ...others } = attributes
      const kind = `${type.toLowerCase()}${unit === undefined ? "" : `, ${unit}`}`
      const keys = new Set([...Object.keys(others), ...(known.get(id)?.attributes ?? [])])
      known.set(id, { name: id, kind, attributes: [...keys].toSorted() })
    }
    const byName = (a: Row, b: Row) => a.name.localeCompare(b.name)
    assert.deepStrictEqual(shown().toSorted(byName), [...known.values()].toSorted(byName))
  }))

it("every attribute is on the page, whole or with its end", () => {
  const named = (name: string) =>
    name.split(".").some((_, at, parts) => page.includes(`\`${at === 0 ? "" : "."}${parts.slice(at).join(".")}\``))
  assert.deepStrictEqual(Object.values(Conventions).filter((name) => !named(name)), [])
})
