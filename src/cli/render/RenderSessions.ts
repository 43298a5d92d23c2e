/** What a list of sessions looks like: one line each, at most as wide as the terminal. Pure. */
import { count } from "../../run/Quantity.ts"
import type * as RunEvent from "../../run/RunEvent.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import type { AllowedCall } from "../session/AllowedCalls.ts"
import type { Paint } from "./Paint.ts"
import * as TerminalText from "./TerminalText.ts"
import { age } from "./Time.ts"

interface Look {
  readonly paint: Paint
  /** cells of a line; `Infinity` where lines are not cut */
  readonly columns: number
  /** milliseconds since the epoch */
  readonly now: number
  /** ids of suspended sessions in which nothing waits for an answer any more */
  readonly decided?: ReadonlySet<string>
  /** lines to follow that of a session, by its id */
  readonly below?: ReadonlyMap<string, ReadonlyArray<string>>
}

const words: Record<RunEvent.End["_tag"], string> = {
  RunCompleted: "completed",
  RunLimited: "limited",
  RunSuspended: "waiting",
  RunFailed: "failed",
  RunAborted: "aborted"
}

/** How the last run ended, in a word. */
export const end = (info: SessionStore.SessionInfo, isDecided = false): string =>
  info.end === undefined ? "unfinished" : isDecided ? "decided" : words[info.end]

/** `0199...  completed  2 turns  3 min ago  which three files are the longest?`, in columns. */
export const lines = (infos: ReadonlyArray<SessionStore.SessionInfo>, look: Look): string => {
  const rows = infos.map((info) => ({
    info,
    cells: [
      TerminalText.line(info.sessionId),
      end(info, look.decided?.has(info.sessionId)),
      count(info.turns, "turn"),
      age(look.now - info.updatedAt)
    ]
  }))
  const widths = [0, 1, 2, 3].map((at) =>
    rows.reduce((most, { cells }) => Math.max(most, TerminalText.width(cells[at]!)), 0)
  )
  return rows.map(({ cells, info }) => {
    const [id, ended, turns, ago] = cells.map((cell, at) => TerminalText.pad(cell, widths[at]!)) as Cells
    const used = widths.reduce((sum, width) => sum + width + 2, 0)
    // the id must stay whole to be copied: where there is no room, the title is cut
    const title = TerminalText.cut(TerminalText.line(info.title), Math.max(look.columns - used, 0))
    const line = `${id}  ${colour(info, look.paint)(ended)}  ${turns}  ${look.paint.dim(ago)}  ${title}`.trimEnd()
    return [line, ...look.below?.get(info.sessionId) ?? []].map((line) => `${line}\n`).join("")
  }).join("")
}

type Cells = [id: string, ended: string, turns: string, ago: string]

const colour = ({ end }: SessionStore.SessionInfo, paint: Paint): (text: string) => string =>
  end === "RunCompleted" ? paint.green : end === "RunFailed" ? paint.red : paint.yellow

/** A session, and the calls that going on with it makes. */
export interface Shown extends SessionStore.SessionInfo {
  readonly willRun?: ReadonlyArray<AllowedCall>
}

/** A line of JSON; `end` is `null` while no run has ended. */
export const json = (info: Shown): string =>
  `${TerminalText.json(JSON.stringify({ ...info, end: info.end ?? null }))}\n`
