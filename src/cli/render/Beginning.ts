/** When a drive began, and what it goes on from. Pure. */
import type * as RunEvent from "../../run/RunEvent.ts"

/** `2026-11-22 09:30:00 UTC` */
export const time = (at: number): string => `${new Date(at).toISOString().slice(0, 19).replace("T", " ")} UTC`

/** Why a drive is not its run's first. */
export const resumed: Record<Extract<RunEvent.Durable, { _tag: "RunResumed" }>["cause"], string> = {
  resume: "resumed",
  recovery: "recovered after a crash",
  approval: "resumed after an approval"
}
