/**
 * What an answer has used so far, as a part of it: effect/ai has a place for usage only in a finish, which an answer that breaks
 * off or is cut off does not have.
 */
import type * as Response from "effect/ai/Response"
import * as Json from "./Json.ts"

/** Token counts, as far as there are any. */
export interface Counts {
  readonly inputTokens: Partial<Pick<Response.Usage["inputTokens"], "total" | "cacheRead" | "cacheWrite">>
  readonly outputTokens: Partial<Pick<Response.Usage["outputTokens"], "total" | "reasoning">>
}

/** A part that holds these counts and nothing else. */
export const part = (counts: typeof Response.Usage.Encoded): Response.StreamPartEncoded => ({
  type: "response-metadata",
  id: undefined,
  modelId: undefined,
  timestamp: undefined,
  metadata: { fiberloop: { usedSoFar: Json.of(counts) ?? null } }
})

/** The counts of such a part; `undefined` for any other. */
export const read = ({ metadata }: Response.ResponseMetadataPart): Counts | undefined =>
  Json.object(metadata["fiberloop"] as Json.Json | undefined)?.usedSoFar as Counts | undefined
