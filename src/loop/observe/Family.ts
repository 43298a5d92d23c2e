/** Metrics of one name, one for each set of attributes, and what is made once for each name of a subject. */
import * as Context from "effect/Context"
import * as Metric from "effect/Metric"

/** What metrics need of a context, and no more: they look it up at each change. */
export const contextOf = (context: Context.Context<never>): Context.Context<never> =>
  Context.make(Metric.MetricRegistry, Context.get(context, Metric.MetricRegistry)).pipe(
    Context.add(Metric.CurrentMetricAttributes, Context.get(context, Metric.CurrentMetricAttributes))
  )

export type Attributes = Readonly<Record<string, string>>

/** Changes one metric, in the registry that the context has. */
export type Change = (value: number, context: Context.Context<never>) => void

/** Grows by `value`. */
export const counter = (name: string, description: string) => (attributes: Attributes): Change => {
  const metric = Metric.counter(name, { description, attributes, incremental: true })
  return (value, context) => metric.updateUnsafe(value, context)
}

/** Moves by `value`. */
export const gauge = (name: string, description: string) => (attributes: Attributes): Change => {
  const metric = Metric.gauge(name, { description, attributes })
  return (value, context) => metric.modifyUnsafe(value, context)
}

/** Takes `value` up; `unit` by UCUM. */
export const histogram =
  (name: string, description: string, unit: string, boundaries: ReadonlyArray<number>) =>
  (attributes: Attributes): Change => {
    const metric = Metric.histogram(name, { description, attributes: { ...attributes, unit }, boundaries })
    return (value, context) => metric.updateUnsafe(value, context)
  }

/** Makes for each name once. There are as many as there are metrics of them, which are kept too. */
export const once = <A>(make: (name: string) => A): (name: string) => A => {
  const made = new Map<string, A>()
  return (name) => {
    let known = made.get(name)
    if (known === undefined) made.set(name, known = make(name))
    return known
  }
}
