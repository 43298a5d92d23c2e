/** When a drive began, and what it continues. Pure. */
import type * as DurableEvent from "../../run/DurableEvent.ts"

/** `2026-11-22 09:30:00 UTC`; in milliseconds where no calendar has it, as a log of another writer may say. */
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
