/** An effect's metrics, in a registry of its own. */
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"

export interface Measured {
  readonly registry: Map<string, Metric.Metric.Metadata<any, any>>
  /** `name{key=value,...} value` of each series whose name matches; for a histogram its sum and count */
  readonly read: (name: RegExp) => Effect.Effect<ReadonlyArray<string>>
}

export const make = (): Measured => {
  const registry: Measured["registry"] = new Map()
  return {
    registry,
    read: (name) =>
      Effect.map(
        Effect.provideService(Metric.snapshot, Metric.MetricRegistry, registry),
        (found) =>
          found.filter(({ id }) => name.test(id)).map((snapshot) => {
            const { unit: _, ...attributes } = snapshot.attributes ?? {}
            const keys = Object.entries(attributes).map(([key, value]) => `${key.split(".").at(-1)}=${value}`)
            return `${snapshot.id.replace(/^fiberloop\./, "")}{${keys.join()}} ${valueOf(snapshot)}`
          }).toSorted()
      )
  }
}

const valueOf = (snapshot: Metric.Metric.Snapshot): string => {
  switch (snapshot.type) {
    case "Counter":
      return `${snapshot.state.count}`
    case "Gauge":
      return `${snapshot.state.value}`
    case "Histogram":
      return `${snapshot.state.sum}/${snapshot.state.count}`
    case "Frequency":
    case "Summary":
      return snapshot.type
  }
}
