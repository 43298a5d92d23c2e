/**
 * Outcomes that a round gives its calls, as they are worded and as they may be stored.
 *
 * Does not own which call gets one (`Judging`, `Unsettled`), nor how it is recorded (`CallStep`).
 */
import * as Bounds from "../../run/log/Bounds.ts"
import type * as OpenCall from "../../run/state/OpenCall.ts"
import type * as ToolOutcome from "../../run/ToolOutcome.ts"
import * as SessionStore from "../../services/SessionStore.ts"
import * as TooLarge from "../log/TooLarge.ts"

type Outcome = ToolOutcome.ToolOutcome

/** A person's no. */
export const denied = ({ reason }: OpenCall.Decision): Outcome => ({
  _tag: "Denied",
  reason: reason ?? "the user did not allow this call"
})

/** What a person has given as the result. */
export const answered = ({ decision }: OpenCall.OpenCall): Outcome => ({
  _tag: "Succeeded",
  result: decision?.result ?? null,
  ...(decision?.content === undefined ? {} : { content: decision.content })
})

/** The outcome; or, where it is more than a store holds together with `beside`, one that says so instead. A short one always stays. */
export const storable = (outcome: Outcome, beside: object = {}): Outcome => {
  const bytes = TooLarge.bytesOf({ ...beside, outcome })
  if (bytes === undefined || Bounds.isSurelyWithin(outcome, short)) return outcome
  // a person's reason was found to fit by itself
  if (outcome._tag === "Denied" && bytes <= SessionStore.maxContentBytes + short) return outcome
  const message = `it has ${bytes} bytes of JSON, the limit is ${SessionStore.maxContentBytes}`
  return outcome._tag === "Succeeded"
    ? { _tag: "NotEncodable", message }
    : { _tag: "Failed", result: `The tool failed, and what it said is left out: ${message}.` }
}

/** bytes that an event has room for, beside the most that others may say in it */
const short = (SessionStore.maxEventBytes - SessionStore.maxContentBytes) / 2
