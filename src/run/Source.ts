/**
 * What an answer rests on: the pages and documents that its provider names. For people and applications: they are never sent to a model.
 *
 * Owns how much is kept of what a provider says of them. Does not own which answer they belong to (`AssistantMessage`).
 */
import * as Schema from "effect/Schema"
import * as Bounds from "./log/Bounds.ts"

/** A page. A run keeps no address that begins with neither `http:` nor `https:`; a log from elsewhere may hold one (`bounded`). */
export const UrlSource = Schema.Struct({
  type: Schema.tag("url"),
  url: Schema.String,
  title: Schema.optionalKey(Schema.String)
})
export type UrlSource = typeof UrlSource.Type

/** A document that has no address; `id` is the provider's, and some make up a new one each time that they name it. */
export const DocumentSource = Schema.Struct({
  type: Schema.tag("document"),
  id: Schema.String,
  title: Schema.String,
  mediaType: Schema.String,
  fileName: Schema.optionalKey(Schema.String)
})
export type DocumentSource = typeof DocumentSource.Type

export const Source = Schema.Union([UrlSource, DocumentSource])
export type Source = typeof Source.Type

/** Those of an answer, in the order in which it first named them; an answer that names none has no list. */
export const Sources = Schema.NonEmptyArray(Source)
export type Sources = typeof Sources.Type

/** How many are kept of an answer: the first ones. */
export const most = 256

/** Characters of an address or an id; one that is longer would name something else if it were cut. */
const longestName = 8192
/** Characters of a title, file name or media type, which are cut. */
const longestText = 1000

/** What it is known by in its answer: two of the same key are one source. */
export const key = (source: Source): string => source.type === "url" ? `url ${source.url}` : `document ${source.id}`

/** What is kept of a source; `undefined` where nobody could link to it, or its name is too long. */
export const bounded = (source: Source): Source | undefined => {
  const cut = (text: string) => Bounds.cut(text, longestText)
  if (source.type === "url") {
    const { title, type, url } = source
    if (url.length > longestName || !/^https?:/i.test(url)) return undefined
    return title === undefined ? { type, url } : { type, url, title: cut(title) }
  }
  const { fileName, id, mediaType, title, type } = source
  if (id.length > longestName) return undefined
  const document = { type, id, title: cut(title), mediaType: cut(mediaType) }
  return fileName === undefined ? document : { ...document, fileName: cut(fileName) }
}
