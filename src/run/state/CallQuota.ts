/**
 * How many calls a run may make of its tools: calls beyond that do not run, and the run goes on. Pure.
 *
 * Does not own the limits that end a run; those are `RunPolicy.Limits`.
 */
import * as Schema from "effect/Schema"
import * as OpenCall from "./OpenCall.ts"

/**
 * Calls that are started or answered by people, whole numbers of at least 0: by tool, with `"*"` for all of them together;
 * a plain number means the same as `"*"`.
 */
export const CallQuota = Schema.Union([Schema.Finite, Schema.Record(Schema.String, Schema.Finite)])
export type CallQuota = typeof CallQuota.Type

/** Not the name of a tool. */
export const all = "*"

export const entries = (quota: CallQuota): ReadonlyArray<readonly [string, number]> =>
  typeof quota === "number" ? [[all, quota]] : Object.entries(quota)

/** The smaller number for each name; `Infinity` does not limit. */
export const narrow = (...quotas: ReadonlyArray<CallQuota | undefined>): CallQuota | undefined => {
  const least = new Map<string, number>()
  for (const [name, most] of quotas.flatMap((quota) => quota === undefined ? [] : entries(quota))) {
    if (most !== Infinity) least.set(name, Math.min(most, least.get(name) ?? Infinity))
  }
  return least.size === 0 ? undefined : Object.fromEntries(least)
}

/** The calls of a run that were started, or answered by people, by tool. */
export type Started = Readonly<Record<string, number>>

export const start = (started: Started, tool: string): Started => ({
  ...started,
  [tool]: (Object.hasOwn(started, tool) ? started[tool]! : 0) + 1
})

/** The calls that may not start: in call order, the first ones take what is left. Calls that have started go on. */
export const beyond = (
  quota: CallQuota,
  started: Started,
  calls: ReadonlyArray<OpenCall.OpenCall>
): ReadonlyArray<OpenCall.OpenCall> => {
  const left = new Map(entries(narrow(quota) ?? {}))
  const hasRoom = (name: string) => (left.get(name) ?? Infinity) > 0
  const take = (name: string, count: number) => left.set(name, (left.get(name) ?? Infinity) - count)
  for (const [tool, count] of Object.entries(started)) {
    take(tool, count)
    take(all, count)
  }
  return calls.filter((call) => {
    const { tool } = call
    if (OpenCall.hasStarted(call)) return false
    if (!hasRoom(tool) || !hasRoom(all)) return true
    take(tool, 1)
    take(all, 1)
    return false
  })
}
