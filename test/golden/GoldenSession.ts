/**
 * The golden sessions: one of each released version, as it was exported then. They never change, and are read, projected and
 * continued forever; what the current version adds goes into a session of its own.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import type * as Message from "../../src/run/Message.ts"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import type * as RunResult from "../../src/run/RunResult.ts"

/** What a session means, once and for all. */
export interface Meaning {
  /** how each drive ended, by the `seq` of its end; a failed one has no result */
  readonly results: Readonly<Record<string, RunResult.RunResult | { readonly _tag: "Failed" }>>
  /** where the session's last run stands after the event of that `seq` */
  readonly states: Readonly<Record<string, object>>
  /** `seq` of the inputs that have not reached its model, after the event of that `seq` */
  readonly waiting?: Readonly<Record<string, ReadonlyArray<number>>>
  /** the messages that its own model reads, after the event of that `seq` */
  readonly messages: Readonly<Record<string, ReadonlyArray<Message.Message>>>
}

export interface GoldenSession {
  readonly name: string
  /** of its events */
  readonly version: number
  /** as exported, with line ends */
  readonly text: string
  readonly lines: ReadonlyArray<string>
  /** the events as their version wrote them */
  readonly written: ReadonlyArray<RunEvent.Durable>
  readonly meaning: Meaning
}

const load = (name: string, version: number): GoldenSession => {
  const read = (ending: string) => readFileSync(join(import.meta.dirname, `${name}${ending}`), "utf8")
  const text = read(".jsonl")
  const lines = text.trimEnd().split("\n")
  return {
    name,
    version,
    text,
    lines,
    written: lines.slice(1).map((line) => JSON.parse(line) as RunEvent.Durable),
    meaning: JSON.parse(read(".json")) as Meaning
  }
}

export const all: ReadonlyArray<GoldenSession> = [
  load("session-v1", 1),
  load("session-v1-steering", 1),
  load("session-v1-compaction", 1),
  load("session-v1-answers", 1),
  load("session-v1-team", 1),
  load("session-v1-paused", 1),
  load("session-v1-beside", 1),
  load("session-v1-marks", 1),
  load("session-v1-by-hand", 1),
  load("session-v1-cut-off", 1),
  load("session-v1-goes-on", 1),
  load("session-v1-lost", 1),
  load("session-v1-kept", 1),
  load("session-v1-away", 1),
  load("session-v1-elsewhere", 1),
  load("session-v1-shown", 1),
  load("session-v1-told", 1),
  load("session-v1-unfinished", 1),
  load("session-v1-suspended", 1),
  load("session-v1-sources", 1)
]
