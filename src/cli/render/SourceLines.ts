/** What an answer rests on, as lines beneath it. Pure. */
import { count } from "../../run/Quantity.ts"
import type * as Source from "../../run/Source.ts"
import * as TerminalText from "./TerminalText.ts"

const most = 10

/** Each on a line: the first few and how many there are more, which is followed by `hint`. */
export const few = (sources: ReadonlyArray<Source.Source> = [], hint = ""): ReadonlyArray<string> => {
  const left = sources.length - most
  return [...all(sources.slice(0, most)), ...(left > 0 ? [`· ${count(left, "more source")}${hint}`] : [])]
}

/** Each on a line. */
export const all = (sources: ReadonlyArray<Source.Source> = []): ReadonlyArray<string> => sources.map(line)

const line = (source: Source.Source): string => {
  const [title, place] = source.type === "url"
    ? [source.title, source.url]
    : [source.title, source.fileName ?? source.mediaType]
  return ["·", ...(title === undefined ? [] : [TerminalText.sentence(title)]), TerminalText.line(place)].join(" ")
}
