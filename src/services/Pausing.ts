/**
 * How a handler ends when it waits for other runs: it is called again when its own run is resumed.
 *
 * Does not own what becomes of its call (`layers/tools/Settling`), nor who may wait in this way (`ToolCall`).
 */
import * as Cause from "effect/Cause"
import * as Predicate from "effect/Predicate"
import * as Foreign from "../run/Foreign.ts"
import * as InputCheck from "../run/InputCheck.ts"
import * as Pointer from "../run/Pointer.ts"

const TypeId = "~fiberloop/services/Pausing"

/** A defect, so that a handler's own error handling does not catch it. */
export class Pausing {
  readonly [TypeId] = TypeId
  readonly waitsFor: ReadonlyArray<Pointer.Run>

  constructor(runs: ReadonlyArray<Pointer.Run>) {
    this.waitsFor = runs.map(({ runId, sessionId }) => ({ sessionId, runId }))
  }
}

const isPausing = (defect: unknown): defect is Pausing => Predicate.hasProperty(defect, TypeId)

/** The runs that a handler which ended with this cause waits for, each once; undefined when it waits for none. */
export const waitsFor = ({ reasons }: Cause.Cause<unknown>): ReadonlyArray<Pointer.Run> | undefined => {
  const runs = known(reasons.flatMap((reason) => Cause.isDieReason(reason) ? runsOf(reason.defect) : []))
  return runs.length === 0 ? undefined : runs
}

const runsOf = (defect: unknown): ReadonlyArray<Pointer.Run> =>
  Foreign.look(() => isPausing(defect) ? defect.waitsFor : [], [])

/** Those that are runs, each once: code that is not ours may pass anything, and a log must hold nothing but runs. */
export const known = (given: unknown): ReadonlyArray<Pointer.Run> => Foreign.look(() => runsIn(given), [])

const runsIn = (given: unknown): ReadonlyArray<Pointer.Run> => {
  const runs = new Map<string, Pointer.Run>()
  for (const run of Array.isArray(given) ? given : []) {
    if (!isRun(run)) continue
    const { runId, sessionId } = run
    runs.set(Pointer.keyOf(run), { sessionId, runId })
  }
  return [...runs.values()]
}

const isRun = (value: unknown): value is Pointer.Run =>
  Predicate.hasProperty(value, "sessionId") && Predicate.hasProperty(value, "runId") &&
  isId(value.sessionId) && isId(value.runId)

const isId = (value: unknown): boolean => typeof value === "string" && InputCheck.badId("id", value) === undefined
