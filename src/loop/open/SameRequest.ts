/**
 * Whether a start asks for a run that there is, live or in the log. A run id names one run, so a request that repeats it is the same
 * request, or a conflict.
 *
 * Limits and a tool policy count as the caller gave them: what the agent brings may have changed since, with a deploy for example.
 * Does not own what becomes of the request then (`Opening`, `Start`).
 */
import * as Canonical from "../../run/Canonical.ts"
import * as Pointer from "../../run/Pointer.ts"
import * as RunError from "../../run/RunError.ts"
import * as RunInput from "../../run/RunInput.ts"
import type * as CallAround from "../env/CallAround.ts"
import type * as DriveRequest from "../env/DriveRequest.ts"

/** A run that there is: its agent, and what it was started with. */
interface Known {
  readonly agent: string | undefined
  readonly input: RunInput.Effective
}

/**
 * The refusal of a request that is not the one which began the run. `isOfCall`: the run works for the call that asks. Its data may
 * differ then: a call hands on the data that the run around it has been resumed with.
 */
export const refusal = (
  { agent, input }: Known,
  { brief, runId }: Pick<DriveRequest.DriveRequest, "brief" | "runId">,
  begin: DriveRequest.Start,
  isOfCall: boolean
): RunError.NonRetryableError | undefined => {
  if (agent !== undefined && agent !== brief.agent) return RunError.runOfAnother(runId, agent)
  const asked = RunInput.askedOf(input, begin.input, begin.given)
  if (isEqual(asked, input)) return undefined
  // another version's log may have fields that this one does not know
  const fields = new Set([...known, ...Object.keys(input)] as ReadonlyArray<keyof RunInput.Effective>)
  const differ = [...fields].filter((field) => !isEqual(asked[field], input[field]) && !(isOfCall && field === "data"))
  return differ.length === 0 ? undefined : RunError.runConflict(runId, differ.map(nameOf))
}

const known = Object.keys(RunInput.Effective.fields)

/** As the caller gave it. */
const nameOf = (field: keyof RunInput.Effective): string => field === "messages" ? "input" : field

/** The data that a call hands on to its run; `undefined` where the run has it already. */
export const newData = (input: RunInput.Effective | undefined, begin: DriveRequest.Start): RunInput.Effective["data"] =>
  isEqual(input?.data, begin.input.data) ? undefined : begin.input.data

/** It is asked for from the call that it works for, or that paused for it. */
export const isOfCall = (
  parent: Pointer.Parent | undefined,
  run: Pointer.Run,
  around: CallAround.CallAround | undefined
): boolean => {
  if (around === undefined) return false
  const { budget, call } = around
  return (parent !== undefined && Pointer.isSameCall(parent, call)) || budget?.waitsFor(call, run) === true
}

const isEqual = (one: unknown, other: unknown): boolean => Canonical.canonical(one) === Canonical.canonical(other)
