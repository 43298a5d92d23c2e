/**
 * How events of older versions become events of this one: a table of steps from each version to the next, applied in
 * order. Pure. The step of a released version stays for ever: sessions of that version are migrated by it whenever they
 * are read.
 *
 * Does not own when that happens; stores do it when they read, and leave what they hold as it was written.
 */
import * as RunEvent from "../RunEvent.ts"

/** An event as some version wrote it. */
export interface Stored {
  readonly _tag: string
  readonly seq: number
  readonly at: number
  readonly runId: string
  readonly version: number
  readonly [field: string]: unknown
}

/**
 * What one version changed, by type of event: the fields that an event has from then on. Types that are not listed stay
 * as they are, known or not. Type, `seq`, time and run of an event never change: databases find events by them.
 */
export type Step = { readonly [type: string]: (event: Stored) => Readonly<Record<string, unknown>> }

/** The step from each version to the next, by the version that it starts from. */
export type Steps = { readonly [from: number]: Step }

/** No version came before this one. */
export const steps: Steps = {}

/**
 * `event` as version `to` would have written it; unchanged if it is of that version. `undefined` if it is newer, if a
 * step is missing, or if a step cannot read its data.
 */
export const migrate = (event: Stored, table: Steps, to: number = RunEvent.version): RunEvent.Durable | undefined => {
  let migrated = event
  for (let version = event.version; version !== to; version++) {
    if (!(version < to) || !Object.hasOwn(table, version)) return undefined
    const next = take(table[version]!, migrated, version + 1)
    if (next === undefined) return undefined
    migrated = next
  }
  return migrated as unknown as RunEvent.Durable
}

const take = (step: Step, event: Stored, version: number): Stored | undefined => {
  const { _tag, at, runId, seq } = event
  if (!Object.hasOwn(step, _tag)) return { ...event, version }
  try {
    const { _tag: _1, seq: _2, at: _3, runId: _4, version: _5, ...fields } = step[_tag]!(event)
    return { _tag, seq, at, runId, version, ...fields }
  } catch {
    return undefined
  }
}
