/**
 * The pages that an answer rests on, as parts of it: OpenAI's annotations of a message, which OpenRouter sends too, and the lists that
 * Perplexity and xAI send beside it.
 *
 * Does not own how many of an answer are kept, nor which ones nobody could link to (`Source`).
 */
import type * as Response from "effect/ai/Response"
import * as Source from "../../run/Source.ts"
import * as Json from "../provider/Json.ts"

/** Annotations of a message, of any kind. */
export const annotated = (delta: Json.JsonObject): ReadonlyArray<Json.Json> => Json.array(delta.annotations)

/** What a chunk lists beside the message: results with titles, or addresses. */
export const listed = (chunk: Json.JsonObject): ReadonlyArray<Json.Json> => {
  const results = Json.array(chunk.search_results)
  return results.length > 0 ? results : Json.array(chunk.citations)
}

/** Adds those that are pages, each once, of as many as are kept of an answer. */
export const add = (cited: ReadonlyArray<Json.Json>, out: Array<Response.StreamPartEncoded>): void => {
  const added = new Set<string>()
  for (let i = 0; i < cited.length && added.size < Source.most; i++) {
    const item = cited[i]!
    const annotation = Json.object(item)
    const page = Json.object(annotation?.url_citation) ?? annotation
    const url = URL.parse(Json.text(item) ?? Json.text(page?.url) ?? "")?.href
    if (url === undefined || added.has(url) || Source.bounded({ type: "url", url }) === undefined) continue
    added.add(url)
    out.push({ type: "source", sourceType: "url", id: url, url, title: Json.text(page?.title) ?? url })
  }
}
