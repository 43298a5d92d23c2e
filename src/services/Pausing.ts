/**
 * How a handler ends that waits for other runs: it is called again when its own run is resumed.
 *
 * Does not own what is made of it (`layers/tools/Settling`), nor who may wait so (`ToolExecutor.ToolCall`).
 */
import * as Cause from "effect/Cause"
import * as Predicate from "effect/Predicate"
import type * as Pointer from "../run/Pointer.ts"

const TypeId = "~fiberloop/services/Pausing"

/** A defect, so that it passes by what a handler does about its errors. */
export class Pausing {
  readonly [TypeId] = TypeId
  readonly waitsFor: ReadonlyArray<Pointer.Run>

  constructor(runs: ReadonlyArray<Pointer.Run>) {
    this.waitsFor = runs.map(({ runId, sessionId }) => ({ sessionId, runId }))
  }
}

const isPausing = (defect: unknown): defect is Pausing => Predicate.hasProperty(defect, TypeId)

/** The runs that a handler waits for which ended with this, each once; undefined where it waits for none. */
export const waitsFor = ({ reasons }: Cause.Cause<unknown>): ReadonlyArray<Pointer.Run> | undefined => {
  const runs = new Map<string, Pointer.Run>()
  for (const reason of reasons) {
    if (!Cause.isDieReason(reason) || !isPausing(reason.defect)) continue
    for (const run of reason.defect.waitsFor) runs.set(JSON.stringify([run.sessionId, run.runId]), run)
  }
  return runs.size === 0 ? undefined : [...runs.values()]
}
