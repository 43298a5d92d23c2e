/** Metrics of one name, one for each set of attributes, made once. */
import type * as Context from "effect/Context"
import * as Metric from "effect/Metric"

export type Attributes = Readonly<Record<string, string>>

/** Changes a metric of this name with these attributes, in the registry that the context has. */
export type Change = (value: number, attributes: Attributes, context: Context.Context<never>) => void

const family = <M>(make: (attributes: Attributes) => M) => {
  const made = new Map<string, M>()
  return (attributes: Attributes): M => {
    let key = ""
    for (const name in attributes) key += `${name}=${attributes[name]};`
    let metric = made.get(key)
    if (metric === undefined) made.set(key, metric = make(attributes))
    return metric
  }
}

/** Grows by `value`. */
export const counter = (name: string, description: string): Change => {
  const of = family((attributes) => Metric.counter(name, { description, attributes, incremental: true }))
  return (value, attributes, context) => of(attributes).updateUnsafe(value, context)
}

/** Moves by `value`. */
export const gauge = (name: string, description: string): Change => {
  const of = family((attributes) => Metric.gauge(name, { description, attributes }))
  return (value, attributes, context) => of(attributes).modifyUnsafe(value, context)
}

/** Takes `value` up; `unit` by UCUM. */
export const histogram = (
  name: string,
  description: string,
  unit: string,
  boundaries: ReadonlyArray<number>
): Change => {
  const of = family((attributes) =>
    Metric.histogram(name, { description, attributes: { ...attributes, unit }, boundaries })
  )
  return (value, attributes, context) => of(attributes).updateUnsafe(value, context)
}
