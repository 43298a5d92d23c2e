/**
 * A call that a provider executed itself, and its result, as a part of an answer that effect/ai reads with no tool's schemas: it would
 * lose the answer over a result of a tool that the call did not declare (Gemini's searches beside tools of an application, tools of a
 * provider's MCP servers), and over either of them where a tool of the application has that name.
 */
import type * as Response from "effect/ai/Response"
import type * as Schema from "effect/Schema"
import type * as Model from "../../services/Model.ts"
import * as Json from "./Json.ts"

type Part = Response.ToolCallPartEncoded | Response.ToolResultPartEncoded

/** What is kept of it. */
type Kept = Extract<Model.ModelPart, { readonly type: "tool-call" | "tool-result" }>

const kept = (part: Part): Kept => {
  const { id, name } = part
  return part.type === "tool-call"
    ? { type: part.type, id, name, params: (part.params ?? {}) as Schema.Json, providerExecuted: true }
    : { type: part.type, id, name, result: part.result as Schema.Json, isFailure: part.isFailure }
}

/** Who defines each tool of a call, by its name. */
export type Tools = ReadonlyMap<string, "provider" | "application">

/** Whether effect/ai would read this part with the schemas of a tool of the application, or miss those of its own. */
export const is = (part: Response.StreamPartEncoded, tools: Tools): part is Part => {
  if (part.type === "tool-result") return tools.get(part.name) !== "provider"
  return part.type === "tool-call" && part.providerExecuted === true && tools.get(part.name) === "application"
}

/** A part that holds this one, as a text that nobody reads on the way, with its metadata, and nothing else. */
export const part = (given: Part): Response.StreamPartEncoded => ({
  type: "response-metadata",
  id: undefined,
  modelId: undefined,
  timestamp: undefined,
  metadata: { ...given.metadata, fiberloop: { executed: JSON.stringify(kept(given)) } }
})

/** The call or result in such a part, and its metadata; `undefined` for any other. */
export const read = ({ metadata }: Response.ResponseMetadataPart) => {
  const { fiberloop, ...own } = metadata
  const text = Json.text(Json.object(fiberloop as Json.Json | undefined)?.executed)
  return text === undefined ? undefined : { part: JSON.parse(text) as Kept, metadata: own }
}
