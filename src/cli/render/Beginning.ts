/** When a drive began, and what it goes on from. Pure. */
import type * as DurableEvent from "../../run/DurableEvent.ts"

/** `2026-11-22 09:30:00 UTC`; what no calendar has, as a log may say that another wrote, in milliseconds. */
export const time = (at: number): string => {
  const date = new Date(at)
  return Number.isNaN(date.getTime()) ? `${at} ms` : `${date.toISOString().slice(0, 19).replace("T", " ")} UTC`
}

/** Why a drive is not its run's first. */
export const resumed: Record<DurableEvent.Of<"RunResumed">["cause"], string> = {
  resume: "resumed",
  recovery: "recovered after a crash",
  approval: "resumed after an approval"
}
