/** What sees the events of a drive as they are published: at once, and on the drive's own time, so it is quick. */
import type * as Arr from "effect/Array"
import type * as Exit from "effect/Exit"
import type * as RunError from "../../run/RunError.ts"
import type * as RunEvent from "../../run/RunEvent.ts"

/** Sees all events in order, except arrays of nothing but deltas. */
export type See = (events: Arr.NonEmptyReadonlyArray<RunEvent.RunEvent>) => void
/** `lost` is the tag of the error, where the drive had begun and its end is not in the store. */
export type Close = (result: Exit.Exit<unknown, RunError.RunError>, lost: string | undefined) => void

export interface Sink {
  /** what it is, in the plural, for a warning in the logs */
  readonly name: string
  readonly see?: See
  /** The drive is over, with or without an end event. */
  readonly close?: Close
  /** It also sees what a store takes after the drive has given up waiting for that. */
  readonly seesLate?: true
}

/** What a sink knows of the drive that it sees. */
export interface Drive {
  readonly agent: string
  readonly sessionId: string
  readonly runId: string
  /** The agent's tools, by name: a model may ask for any name, and what it says is content. */
  readonly tools: object
}

/** The name of a tool where it is the application's and not the model's. */
export const toolName = ({ tools }: Pick<Drive, "tools">, name: string): string =>
  Object.hasOwn(tools, name) ? name : "_OTHER"
