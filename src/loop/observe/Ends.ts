/** Ends of drives in words that metrics, logs and spans share. */
import type * as RunEvent from "../../run/RunEvent.ts"

const words = {
  RunCompleted: "completed",
  RunLimited: "limited",
  RunSuspended: "suspended",
  RunFailed: "failed",
  RunAborted: "aborted"
} as const

/** The end, and its reason: the tag of the error, where it failed. */
export const of = (end: RunEvent.End): { readonly end: string; readonly reason: string } => ({
  end: words[end._tag],
  reason: end._tag === "RunFailed" ? end.error.reason._tag : end.reason
})

/** Both as one name: `completed stop`. */
export const named = (event: RunEvent.End): string => {
  const { end, reason } = of(event)
  return `${end} ${reason}`
}
