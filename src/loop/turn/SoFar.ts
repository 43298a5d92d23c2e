/**
 * What was shown of an answer so far, for a reader that comes in the middle of it: each block's deltas as one.
 *
 * Does not own how deltas come about (`Collector`), nor who is told of them (`Feed`).
 */
import type * as Message from "../../run/Message.ts"
import type * as RunEvent from "../../run/RunEvent.ts"
import type * as Model from "../../services/Model.ts"

type Source = Extract<Model.ModelPart, { type: "source" }>

/** What has come of a block, or of a call's arguments. */
export interface Block {
  readonly _tag: RunEvent.Delta["_tag"]
  readonly block: string
  /** as they came, or joined: half a character at the end is not shown yet */
  readonly deltas: Array<string>
  /** the index of the first delta that was shown; undefined where none was */
  readonly index: number | undefined
  /** the tool that arguments are for */
  readonly tool?: string
}

/**
 * In order of appearance; indices go from 0 to `end` without a gap, even where blocks came interleaved. What was joined takes the place
 * of a block's deltas, so that the next reader's are few.
 */
export const joined = (
  blocks: ReadonlyArray<Block>,
  end: number,
  attempt: Pick<RunEvent.Delta, "runId" | "turn" | "attempt">
): ReadonlyArray<RunEvent.Delta> => {
  const shown = merged(blocks).filter(isShown).sort((one, other) => one.index - other.index)
  return shown.map(({ _tag, block, index, text, tool = "" }, at) => {
    const count = (shown[at + 1]?.index ?? end) - index
    const event = { ...attempt, index, count, block, delta: whole(text) }
    return _tag === "ToolParamsDelta" ? { _tag, ...event, tool } : { _tag, ...event }
  })
}

/** Blocks of one kind and id become one: half a character of one is shown with the next. */
const merged = (blocks: ReadonlyArray<Block>): Array<Merged> => {
  const byId = new Map<string, Merged>()
  for (const block of blocks) {
    const key = `${block._tag} ${block.block}`
    const known = byId.get(key)
    const text = (known?.text ?? "") + textOf(block)
    byId.set(key, { ...block, text, index: known?.index ?? block.index })
  }
  return [...byId.values()]
}

interface Merged extends Block {
  readonly text: string
}

const textOf = ({ deltas }: Block): string => {
  if (deltas.length > 1) deltas.splice(0, deltas.length, deltas.join(""))
  return deltas[0] ?? ""
}

const isShown = (block: Merged): block is Merged & { readonly index: number } => block.index !== undefined

/** The texts of an answer's content so far, without half a character at the end. */
export const texts = (content: ReadonlyArray<Message.AssistantPart>): ReadonlyArray<string> =>
  content.flatMap((part) => part.type === "text" ? whole(part.text) : []).filter((text) => text.trim() !== "")

/** Bytes of JSON that a part has at least; arguments were counted as they came. */
export const leastSize = (part: Message.AssistantPart | Source): number => part.type === "file" ? part.data.length : 50

const whole = (text: string): string => endsInHalf(text) ? text.slice(0, -1) : text

/** The last unit is the first half of a surrogate pair; for an empty text `charCodeAt` is NaN, and the result false. */
export const endsInHalf = (text: string): boolean => (text.charCodeAt(text.length - 1) & 0xfc00) === 0xd800
