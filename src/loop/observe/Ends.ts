/** Ends of drives in words that metrics, logs and spans share. */
import * as RunEvent from "../../run/RunEvent.ts"
import * as RunStatus from "../../run/RunStatus.ts"

/** The end, and its reason: the tag of the error, where it failed. */
export const of = (end: RunEvent.End): { readonly end: string; readonly reason: string } => ({
  end: RunStatus.ofEnd(end._tag),
  reason: RunEvent.reasonOf(end)
})

/** The same of a drive whose end is not in the store, by the tag of its error. */
export const lost = (tag: string): ReturnType<typeof of> => ({ end: "failed", reason: tag })

/** Both as one name: `completed stop`. */
export const named = (event: RunEvent.End): string => {
  const { end, reason } = of(event)
  return `${end} ${reason}`
}
