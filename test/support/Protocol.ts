/**
 * A provider's wire protocol, as far as replaying its recorded streams needs it: how payloads are sent, when an answer
 * may be over, how it ends and with which text, and the model that reads them.
 */
import type * as Config from "effect/Config"
import type * as Layer from "effect/Layer"
import type * as Model from "../../src/services/Model.ts"
import type { Payload } from "./Recording.ts"

/** How a recorded answer ends, read in the plainest way; `undefined` if it can be read in several. */
export type Ending = "whole" | "failed" | "cut" | undefined

export interface Protocol {
  /** the first part of the names of its recordings */
  readonly name: string
  /** one payload as the event the provider sends */
  readonly event: (payload: Payload) => string
  /** what follows the last event */
  readonly end: string
  /** Whether an answer may be over with this payload: it has the finish reason, or an error. */
  readonly decides: (payload: Payload) => boolean
  readonly ending: (payloads: ReadonlyArray<Payload>) => Ending
  /** The text that a payload adds to the answer. */
  readonly text: (payload: Payload) => string
  readonly model: (server: { readonly baseUrl: string }) => Layer.Layer<Model.Model, Config.ConfigError>
}
