/**
 * The sessions of one store in memory, by id.
 *
 * Does not own the content of a log (`MemoryLog`), nor who may write to it (`MemoryWriter`).
 */
import type * as SessionStore from "../../services/SessionStore.ts"
import * as Prefix from "../store/Prefix.ts"
import * as Ranges from "../store/Ranges.ts"
import * as MemoryLog from "./MemoryLog.ts"

export class MemorySessions {
  readonly #logs = new Map<string, MemoryLog.MemoryLog>()

  /** A log without events is held by a writer and does not exist for anyone else. */
  find(sessionId: string): MemoryLog.MemoryLog | undefined {
    const log = this.#logs.get(sessionId)
    return log !== undefined && log.events.length > 0 ? log : undefined
  }

  /** The log of a session, or the empty one that a writer holds before the session exists. */
  held(sessionId: string): MemoryLog.MemoryLog | undefined {
    return this.#logs.get(sessionId)
  }

  put(sessionId: string, log: MemoryLog.MemoryLog): void {
    this.#logs.set(sessionId, log)
  }

  delete(sessionId: string): void {
    this.#logs.delete(sessionId)
  }

  list(options: SessionStore.ListOptions): ReadonlyArray<SessionStore.SessionInfo> {
    const { after, ends, limit, parents, prefix = "", unowned = false } = options
    const logs = Array.from(this.#logs.values()).filter(({ writer }) => !unowned || writer === undefined)
    const infos = logs.map(MemoryLog.infoOf).filter(({ end, head, parent, sessionId }) =>
      head > 0 && (ends?.includes(end) ?? true) && (parents?.includes(parent) ?? true) && Prefix.isOf(prefix, sessionId)
    )
    const following = infos.filter((info) => after === undefined || newestFirst(after, info) < 0)
    return following.sort(newestFirst).slice(0, Ranges.count(limit, following.length))
  }
}

const newestFirst = (a: SessionStore.SessionInfo, b: SessionStore.SessionInfo): number =>
  b.updatedAt - a.updatedAt || (a.sessionId < b.sessionId ? 1 : a.sessionId > b.sessionId ? -1 : 0)
