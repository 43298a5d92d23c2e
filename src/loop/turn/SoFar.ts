/**
 * What was shown of an answer so far, for a reader that comes in the midst of it: each block's deltas as one.
 *
 * Does not own how deltas come about (`Collector`), nor who is told of them (`Feed`).
 */
import type * as RunEvent from "../../run/RunEvent.ts"

/** What came of a block, of those too that have its kind and id once more. */
export interface Block {
  readonly _tag: RunEvent.Delta["_tag"]
  readonly block: string
  /** as they came, those of each in an array: half a character at the end is not shown yet */
  readonly deltas: Array<string | ReadonlyArray<string>>
  /** that of the first delta that was shown */
  index: number | undefined
  /** what arguments are for */
  tool: string
}

/** In order of appearance, indices from 0 to `end` without a gap, also where blocks came interleaved. */
export const joined = (
  blocks: Iterable<Block>,
  end: number,
  place: Pick<RunEvent.Delta, "runId" | "turn" | "attempt">
): ReadonlyArray<RunEvent.Delta> => {
  const shown = Array.from(blocks).filter(isShown).sort((one, other) => one.index - other.index)
  return shown.map(({ _tag, block, deltas, index, tool }, at) => {
    const count = (shown[at + 1]?.index ?? end) - index
    const event = { ...place, index, count, block, delta: whole(deltas.flat().join("")) }
    return _tag === "ToolParamsDelta" ? { _tag, ...event, tool } : { _tag, ...event }
  })
}

const isShown = (block: Block): block is Block & { readonly index: number } => block.index !== undefined

const whole = (text: string): string => endsInHalf(text) ? text.slice(0, -1) : text

/** Its last unit is the first half of a surrogate pair; of an empty text that is NaN, which is none. */
export const endsInHalf = (text: string): boolean => (text.charCodeAt(text.length - 1) & 0xfc00) === 0xd800
