/**
 * The result of a call that a provider executed itself, of a tool that the call did not declare (Gemini's searches beside tools of an
 * application, tools of a provider's MCP servers), as a part of an answer: effect/ai reads the results of declared tools only, and would
 * lose the answer over any other.
 */
import type * as Response from "effect/ai/Response"
import type * as Schema from "effect/Schema"
import * as Json from "./Json.ts"

/** What became of such a call. */
interface Result {
  readonly id: string
  readonly name: string
  readonly result: Schema.Json
  readonly isFailure: boolean
}

/** A part that holds this result, as a text that nobody reads on the way, with its metadata, and nothing else. */
export const part = (
  { id, isFailure, metadata, name, result }: Response.ToolResultPartEncoded
): Response.StreamPartEncoded => ({
  type: "response-metadata",
  id: undefined,
  modelId: undefined,
  timestamp: undefined,
  metadata: { ...metadata, fiberloop: { undeclared: JSON.stringify({ id, name, result, isFailure }) } }
})

/** The result in such a part, and its metadata; `undefined` for any other. */
export const read = ({ metadata }: Response.ResponseMetadataPart) => {
  const { fiberloop, ...own } = metadata
  const text = Json.text(Json.object(fiberloop as Json.Json | undefined)?.undeclared)
  return text === undefined ? undefined : { result: JSON.parse(text) as Result, metadata: own }
}
