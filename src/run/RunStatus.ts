/**
 * The machine as data: every move a live run may make. A move that is not in the table is a bug and dies.
 *
 * ```
 *            driveStarted             messagesReady           partsArrive
 *   idle ───────────────▶ preparing ───────────────▶ calling ─────────────▶ streaming
 *                          │ ▲  ▲                      │ ▲                    │ │ │
 *                          │ │  │ continue             │ │ delayOver          │ │ │
 *        contextMustShrink │ │  ╰───────╮              ├─┼──▶ retrying ◀──────╯ │ │  retryableError, emptyAnswer
 *                          │ │ shrank   │              │ ╰──────╯               │ │
 *                          ▼ │          │              │                        │ │
 *                       compacting ◀────┼──────────────┴────────────────────────╯ │  contextOverflow
 *                            ▲          │                                         │
 *                            ╰───── observing ◀───────────────────────────────────┤  settledWithoutCalls,
 *                     compactFirst      ▲                                         │  settledWithoutTurnLeft
 *                                       │ everyCallSettled                        │
 *                                 tool_running ◀──────────────────────────────────╯  settledWithCalls
 *                                   │      ▲
 *                    everyCallWaits ▼      │ answered
 *                               awaiting_human ──▶ suspended                         nobodyAnswers
 *
 *   observing may also be completed, and every running status limited, aborted or failed;
 *   from an end the next drive goes on in preparing or tool_running
 * ```
 *
 * The log knows `preparing`, `tool_running`, `awaiting_human` and the ends; the others are live only. Does not own
 * which move is made; that is the loop.
 */
import type { End, Status } from "./RunEvent.ts"

const running: ReadonlyArray<Status> = [
  "preparing",
  "compacting",
  "calling",
  "streaming",
  "retrying",
  "tool_running",
  "awaiting_human",
  "observing"
]
/** Where the end of a drive leaves its run. */
const left = {
  RunCompleted: "completed",
  RunLimited: "limited",
  RunSuspended: "suspended",
  RunFailed: "failed",
  RunAborted: "aborted"
} as const satisfies Record<End["_tag"], Status>
const ends: ReadonlyArray<Status> = Object.values(left)
const resumable: ReadonlyArray<Status> = ["suspended", "limited", "aborted", "failed"]

const rows = [
  { from: ["idle"], when: "driveStarted", to: "preparing" },
  { from: ["preparing"], when: "contextMustShrink", to: "compacting" },
  { from: ["preparing"], when: "messagesReady", to: "calling" },
  { from: ["compacting"], when: "shrank", to: "preparing" },
  { from: ["compacting"], when: "compactionFailed", to: "failed" },
  { from: ["calling"], when: "partsArrive", to: "streaming" },
  { from: ["calling", "streaming"], when: "retryableError", to: "retrying" },
  { from: ["calling", "streaming"], when: "contextOverflow", to: "compacting" },
  { from: ["calling", "streaming"], when: "modelSwitched", to: "calling" },
  { from: ["calling", "streaming"], when: "modelFailed", to: "failed" },
  { from: ["streaming"], when: "emptyAnswer", to: "retrying" },
  { from: ["retrying"], when: "delayOver", to: "calling" },
  { from: ["streaming"], when: "settledWithCalls", to: "tool_running" },
  { from: ["streaming"], when: "settledWithoutCalls", to: "observing" },
  { from: ["streaming"], when: "settledWithoutTurnLeft", to: "observing" },
  { from: ["tool_running"], when: "everyCallWaits", to: "awaiting_human" },
  { from: ["tool_running"], when: "everyCallSettled", to: "observing" },
  { from: ["tool_running"], when: "toolFailed", to: "failed" },
  { from: ["awaiting_human"], when: "answered", to: "tool_running" },
  { from: ["awaiting_human"], when: "nobodyAnswers", to: "suspended" },
  { from: ["observing"], when: "continue", to: "preparing" },
  { from: ["observing"], when: "compactFirst", to: "compacting" },
  { from: ["observing"], when: "stop", to: "completed" },
  { from: ["observing"], when: "invalidOutput", to: "failed" },
  { from: running, when: "limitReached", to: "limited" },
  { from: running, when: "aborted", to: "aborted" },
  { from: running, when: "storeFailed", to: "failed" },
  { from: running, when: "defect", to: "failed" },
  { from: ["preparing", "calling", "streaming", "tool_running"], when: "hookBlocked", to: "failed" },
  { from: ends, when: "newInput", to: "preparing" },
  { from: resumable, when: "resumed", to: "preparing" },
  { from: resumable, when: "resumedWithOpenCalls", to: "tool_running" }
] as const

/** What happens to a run that may move it. */
export type Trigger = (typeof rows)[number]["when"]

/** From any of these statuses, this trigger leads to that one. */
export interface Row {
  readonly from: ReadonlyArray<Status>
  readonly when: Trigger
  readonly to: Status
}

/** Every move that exists; no status has two rows for one trigger. */
export const table: ReadonlyArray<Row> = rows

const moves: ReadonlyMap<Status, ReadonlyMap<Trigger, Status>> = new Map(
  (["idle", ...running, ...ends] as const).map((from) => [
    from,
    new Map(table.filter((row) => row.from.includes(from)).map((row) => [row.when, row.to]))
  ])
)

/** Where `when` leads from `from`, or `undefined` when there is no such move. */
export const next = (from: Status, when: Trigger): Status | undefined => moves.get(from)?.get(when)

/** Where `when` leads from `from`. Throws, and so dies as a defect, on a move that is not in the table. */
export const transition = (from: Status, when: Trigger): Status => {
  const to = next(from, when)
  if (to === undefined) throw new Error(`fiberloop: illegal move: "${when}" in status "${from}"`)
  return to
}

/** The status in which an end event, given by its tag, leaves a run: `RunCompleted` is `completed`. */
export const ofEnd = (end: End["_tag"]): (typeof left)[End["_tag"]] => left[end]

/** The drive is over. */
export const isEnd = (status: Status): boolean => ends.includes(status)

/** The drive is over and its run is not: `resume` continues it. */
export const isResumable = (status: Status): boolean => resumable.includes(status)
