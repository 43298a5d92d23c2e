/**
 * Owns what a line is: what a line feed ends, or an unterminated rest. Pure and in bounded memory.
 * Does not own where the bytes come from.
 */
import * as Effect from "effect/Effect"
import type { OpenFile } from "./OpenFile.ts"

const lineFeed = 0x0a
const headBytes = 8_192

/** Whether a file is binary, judged by its first chunk: a NUL byte in the first 8 KiB, as git judges. */
export const isBinary = (firstChunk: Uint8Array): boolean => firstChunk.subarray(0, headBytes).includes(0)

/** The number of lines of a file read from its start, `wc -l` plus one for an unterminated last line; null if binary. */
export const count = Effect.fnUntraced(function*(file: OpenFile) {
  let lines = 0
  let last = lineFeed
  let chunk = yield* file.read
  if (isBinary(chunk)) return null
  while (chunk.length > 0) {
    for (let i = 0; i < chunk.length; i++) {
      if (chunk[i] === lineFeed) lines++
    }
    last = chunk[chunk.length - 1]!
    chunk = yield* file.read
  }
  return last === lineFeed ? lines : lines + 1
})

/** The first `length` characters, one less when that would split a surrogate pair. */
export const cut = (text: string, length: number): string =>
  text.length <= length ? text : text.slice(0, isHighSurrogate(text.charCodeAt(length - 1)) ? length - 1 : length)

const isHighSurrogate = (code: number): boolean => code >= 0xd800 && code <= 0xdbff

/** A line of text, without what ends it. */
export interface Line {
  /** 1-based. */
  readonly number: number
  /** Cut at the splitter's longest line. */
  readonly text: string
  readonly isCut: boolean
}

/** Splits a text that comes in pieces; never holds more of a line than `longest` characters and a piece. */
interface Splitter {
  /** The lines that this piece of text ends. */
  readonly push: (text: string) => ReadonlyArray<Line>
  /** The unterminated last line, if there is one. */
  readonly end: () => ReadonlyArray<Line>
}

/** A splitter that cuts lines at `longest` characters; a carriage return before a line feed is part of the ending. */
export const splitter = (longest: number): Splitter => {
  let number = 1
  let open = ""
  const settle = (ending: string): Line => {
    const text = ending !== "" && open.endsWith(ending) ? open.slice(0, -ending.length) : open
    open = ""
    return { number: number++, text: cut(text, longest), isCut: text.length > longest }
  }
  // Two more than the longest line, so that an ending or an excess can be detected.
  const extend = (text: string): void => {
    const room = longest + 2 - open.length
    if (room > 0) open += text.slice(0, room)
  }
  return {
    push: (text) => {
      const lines: Array<Line> = []
      let from = 0
      for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", from)) {
        extend(text.slice(from, at))
        lines.push(settle("\r"))
        from = at + 1
      }
      extend(text.slice(from))
      return lines
    },
    end: () => open === "" ? [] : [settle("")]
  }
}
