/** Metrics of one name, one for each set of attributes, and what is made once for each name of a subject. */
import * as Context from "effect/Context"
import * as Metric from "effect/Metric"

/** Where changes go, taken from a context once: a metric would look it up at each change. */
export interface Target {
  readonly context: Context.Context<never>
  readonly registry: Metric.MetricRegistry
  /** what the context adds to the attributes of every metric */
  readonly added: Metric.Metric.AttributeSet
}

export const targetOf = (context: Context.Context<never>): Target => ({
  context,
  registry: Context.get(context, Metric.MetricRegistry),
  added: Context.get(context, Metric.CurrentMetricAttributes)
})

export type Attributes = Readonly<Record<string, string>>

/** Changes one metric. */
type Change = (value: number, target: Target) => void

/** Does what the metric itself does, but asks only the registry, which owns the series, at each change. */
const change = (metric: Metric.Metric<number, unknown>, how: "update" | "modify"): Change => {
  const keys = new WeakMap<Metric.Metric.AttributeSet, string>()
  return (value, { added, context, registry }) => {
    let key = keys.get(added)
    if (key === undefined) keys.set(added, key = keyOf(metric, added))
    const series = registry.get(key)
    if (series === undefined) metric[`${how}Unsafe`](value, context)
    else series.hooks[how](value, context)
  }
}

/** The key of a metric's series in every registry. */
const keyOf = (metric: Metric.Metric<number, unknown>, added: Metric.Metric.AttributeSet): string => {
  const registry: Metric.MetricRegistry = new Map()
  const empty = Context.make(Metric.MetricRegistry, registry)
  metric.valueUnsafe(Context.add(empty, Metric.CurrentMetricAttributes, added))
  return registry.keys().next().value!
}

/** Grows by `value`. */
export const counter = (name: string, description: string) => (attributes: Attributes): Change => {
  return change(Metric.counter(name, { description, attributes, incremental: true }), "update")
}

/** Moves by `value`. */
export const gauge = (name: string, description: string) => (attributes: Attributes): Change => {
  return change(Metric.gauge(name, { description, attributes }), "modify")
}

/** Records `value`; `unit` by UCUM. */
export const histogram =
  (name: string, description: string, unit: string, boundaries: ReadonlyArray<number>) =>
  (attributes: Attributes): Change => {
    return change(Metric.histogram(name, { description, attributes: { ...attributes, unit }, boundaries }), "update")
  }

/** Calls `make` once for each name, and keeps the result: there are as many as there are metrics, which are kept too. */
export const once = <A>(make: (name: string) => A): (name: string) => A => {
  const made = new Map<string, A>()
  return (name) => {
    let known = made.get(name)
    if (known === undefined) made.set(name, known = make(name))
    return known
  }
}
