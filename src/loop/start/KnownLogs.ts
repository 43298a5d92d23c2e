/**
 * What looks for runs remember of the logs that they have read: whose runs those are, and until when they are left alone.
 *
 * Does not own what a log says (`TakingUp`), nor what is done about it (`Recovering`).
 */
import type * as SessionStore from "../../services/SessionStore.ts"
import type * as TakingUp from "./TakingUp.ts"

/** Holds for a log that has not grown since. */
export interface Known extends Pick<TakingUp.Judged, "agent" | "seq" | "until"> {
  /** when its own agent last left it alone, looking back how far; in milliseconds, since the epoch for `at` */
  readonly left: { readonly at: number; readonly within: number } | undefined
  /** a new session may have the name of one that was removed */
  readonly createdAt: number
}

type Logs = ReadonlyMap<string, Known>

/** What the agents of a store have read lately: whose a run is has not to be read by each of them. */
const lately = new WeakMap<SessionStore.Store, Map<string, Known>>()

/** What an agent knows of the logs of a store, by session. */
export class KnownLogs {
  readonly #store: SessionStore.Store
  #logs: Logs = new Map()

  constructor(store: SessionStore.Store) {
    this.#store = store
    if (!lately.has(store)) lately.set(store, new Map())
  }

  /** What is known of a session's log as it is; undefined where that has to be read. */
  of(info: SessionStore.SessionInfo): Known | undefined {
    return asItIs(this.#logs, info) ?? asItIs(lately.get(this.#store), info)
  }

  /** Lets the other agents of the store know what a look has read, also those whose looks are under way. */
  share(sessionId: string, known: Known): void {
    lately.get(this.#store)?.set(sessionId, known)
  }

  /** Keeps what a look found. What it did not, as it is gone or was not asked for, is forgotten if the look saw all. */
  keep(found: Map<string, Known>, hasSeenAll: boolean): void {
    const logs = hasSeenAll ? found : new Map([...this.#logs, ...found])
    this.#logs = logs
    lately.set(this.#store, logs)
  }
}

const asItIs = (logs: Logs | undefined, info: SessionStore.SessionInfo): Known | undefined => {
  const known = logs?.get(info.sessionId)
  return known?.seq === info.head && known.createdAt === info.createdAt ? known : undefined
}
