/**
 * Collects what a server attaches to a message as a whole, until reasoning takes it along: bit by bit, and at the latest at
 * the end, possibly as reasoning without text.
 *
 * Does not own where that reasoning is placed (`ChatResponse`).
 */
import type * as Response from "effect/ai/Response"
import * as Json from "../provider/Json.ts"
import * as Attached from "./Attached.ts"
import type { ChatChunk } from "./ChatChunk.ts"
import * as ReasoningDetails from "./ReasoningDetails.ts"

type Came = Pick<ChatChunk, "fields" | "isReasoningContent" | "reasoningDetails">

export class Seal {
  readonly #from: string
  readonly #named = new Set<unknown>()
  #details: Array<Json.JsonObject> = []
  #fields: Json.JsonObject | undefined
  #isReasoningContent = false
  #isOpen = false
  /** characters of all details */
  size = 0

  /** For a model at a server (`Attached.source`). */
  constructor(from: string) {
    this.#from = from
  }

  add({ fields, isReasoningContent, reasoningDetails }: Came): void {
    if (isReasoningContent && !this.#isReasoningContent) this.#isReasoningContent = this.#isOpen = true
    if (fields === undefined && reasoningDetails.length === 0) return
    this.#isOpen = true
    this.#fields = fields === undefined ? this.#fields : { ...this.#fields, ...fields }
    for (const detail of reasoningDetails) {
      ReasoningDetails.add(this.#details, detail)
      this.size += sizeOf(detail)
    }
  }

  /** Whether something came that no reasoning has taken yet. */
  isOpen(): boolean {
    return this.#isOpen
  }

  /** What came since the last call, for reasoning that ends. */
  take(): { readonly metadata?: Response.ProviderMetadata } {
    for (const detail of this.#details) this.#named.add(detail.id)
    const reasoningDetails = this.#details.length === 0 ? undefined : this.#details
    const attached = { isReasoningContent: this.#isReasoningContent, reasoningDetails, fields: this.#fields }
    this.#details = []
    this.#fields = undefined
    this.#isOpen = false
    return Attached.received(attached, this.#from)
  }

  /** Whether what was taken names a call by this id, so that the server looks for it. */
  names(id: string): boolean {
    return this.#named.has(id)
  }
}

/** Characters of the texts in a detail. */
const sizeOf = (detail: Json.Json): number =>
  Object.values(Json.object(detail) ?? {}).reduce(
    (sum: number, text) => sum + (typeof text === "string" ? text.length : 1),
    0
  )
