/**
 * Messages in their places: how a turn, and a list of messages from elsewhere, become legal entries of a transcript.
 *
 * Does not own the order of entries; that is `Transcript`.
 */
import type * as HashSet from "effect/HashSet"
import type * as Memory from "../Memory.ts"
import * as Message from "../Message.ts"
import * as ToolOutcome from "../ToolOutcome.ts"
import * as Calls from "./Calls.ts"
import * as Legality from "./Legality.ts"
import * as Notice from "./Notice.ts"
import * as SharedMap from "./SharedMap.ts"

/** Where a message begins in the log. */
export interface Origin {
  /** `seq` of the first event that it is made of */
  readonly from: number
  /** that event is an input, and came while the model was called */
  readonly isDuringCall?: boolean | undefined
}

/** A message in its place. If it holds reasoning: the model that made it, and the message without it for all others. */
export interface Entry extends Origin {
  readonly seq: number
  readonly message: Message.Message
  /** a user message that has only the runtime's notices */
  readonly isNotice?: boolean
  /** of a user message made of several inputs: the index of the part with which the latest one that a person said begins */
  readonly latest?: number
  /** a user message with what is remembered */
  readonly memory?: Memory.Memory
  /** ids of calls that a provider executed, which other calls had already: see `Calls` */
  readonly renamed?: ReadonlyArray<string>
  readonly reasoned?: { readonly by: Message.ModelRef | undefined; readonly without: Message.Message }
}

/** Whether a person said it: notices of the runtime, and what is remembered, have the user's role too. */
export const isSaid = ({ isNotice, memory, message }: Entry): boolean =>
  message.role === "user" && isNotice !== true && memory === undefined

type Result = Pick<Message.ToolResultPart, "result" | "isFailure" | "content">

/** An assistant message and what is known of its calls. */
export interface Turn {
  readonly seq: number
  /** if that is not `seq` */
  readonly from?: number
  readonly model: Message.ModelRef | undefined
  readonly content: ReadonlyArray<Message.AssistantPart>
  readonly calls: ReadonlyArray<Calls.Call>
  readonly renamed: ReadonlyArray<string>
  /** by the call's place in the message */
  readonly results: SharedMap.SharedMap<number, Result>
}

/** A settled or unsettled turn as an assistant message and, where it made calls, their results. */
export const fromTurn = (turn: Turn): ReadonlyArray<Entry> => {
  const { calls, content, model, renamed, results, seq } = turn
  const others = content.some(isReasoning) ? content.filter((part) => !isReasoning(part)) : content
  // reasoning cannot stand alone as a message
  if (others.length === 0) return []
  const from = turn.from ?? seq
  const said: Entry = { ...unplaced, seq, from, message: { ...answer, content } }
  const named = renamed.length === 0 ? said : { ...said, renamed }
  const message = others === content
    ? named
    : { ...named, reasoned: { by: model, without: { ...answer, content: others } } }
  if (calls.length === 0) return [message]
  const given = calls.map((call, i) => toolResult(call, SharedMap.get(results, i) ?? noResult))
  return [message, { ...unplaced, seq, from, message: { ...answers, content: given } }]
}

// what is kept is made as a copy of one of these: see "What lives long" in `src/loop/README.md`
const answer: Message.AssistantMessage = { role: "assistant", content: [] }
const answers: Message.ToolMessage = { role: "tool", content: [] }
const unplaced: Entry = { seq: 0, from: 0, message: answer }
const empty: Message.ToolResultPart = { type: "tool-result", id: "", name: "", result: "", isFailure: false }

const isReasoning = (part: Message.AssistantPart): boolean => part.type === "reasoning"

const noResult: Result = ToolOutcome.toResult({ _tag: "OutcomeUnknown" })

const toolResult = ({ id, name }: Calls.Call, { content, isFailure, result }: Result): Message.ToolResultPart => {
  const clean = Legality.cleanJson(result)
  const isBlank = typeof clean === "string" && clean.trim() === ""
  const part = { ...empty, id, name, result: isBlank ? noOutput : clean, isFailure }
  if (content === undefined) return part
  const shown = Legality.cleanParts(content)
  return { ...part, content: shown.length === 0 ? [Message.text(noOutput)] : shown }
}

const noOutput = "(no output)"

/**
 * Messages from elsewhere, a history or a strategy's replacement, made legal: entries of `seq`, made of the event
 * `idSeq`, from which ids are derived; `isPaused`: the provider of the last one goes on with it. System messages after
 * others become user messages; reasoning is shown to no reader, since its model is not known.
 */
export const fromMessages = (
  messages: ReadonlyArray<Message.Message>,
  seq: number,
  idSeq: number,
  takenBefore: HashSet.HashSet<string>,
  isPaused = false
): { readonly entries: Array<Entry>; readonly taken: HashSet.HashSet<string> } => {
  const entries: Array<Entry> = []
  let taken = takenBefore
  let count = 0
  messages.forEach((message, at) => {
    if (message.role === "assistant") {
      const { calls, content, renamed, taken: next } = Calls.prepare(idSeq, message.content, taken, {
        from: count,
        isPaused: isPaused && at === messages.length - 1
      })
      taken = next
      count += message.content.length
      const after = messages[at + 1]
      const results = resultsOf(calls, after?.role === "tool" ? after.content : [])
      entries.push(...fromTurn({ seq, from: idSeq, model: undefined, content, calls, renamed, results }))
    } else if (message.role !== "tool") {
      const parts = message.role === "user" ? message.content : [Message.text(message.content)]
      const content = Legality.cleanParts(parts)
      if (content.length === 0) return
      const isSystem = message.role === "system" && entries.every((entry) => entry.message.role === "system")
      entries.push({
        seq,
        from: idSeq,
        message: isSystem ? { role: "system", content: Message.textOf(content) } : { role: "user", content }
      })
    }
  })
  return { entries, taken }
}

/** The results of calls, by place: each call takes the first remaining result with its id. */
const resultsOf = (
  calls: ReadonlyArray<Calls.Call>,
  results: ReadonlyArray<Message.ToolResultPart>
): SharedMap.SharedMap<number, Result> => {
  const left = [...results]
  let found: SharedMap.SharedMap<number, Result> = SharedMap.empty()
  calls.forEach((call, i) => {
    const at = left.findIndex((result) => result.id === call.givenId)
    if (at >= 0) found = SharedMap.add(found, i, left.splice(at, 1)[0]!)
  })
  return found
}

/** The provider-given ids that entries need: those that they show, and those that they had to give up. */
export const idsOf = (entries: ReadonlyArray<Entry>) => ({
  shown: entries.flatMap(({ message }) => message.role === "assistant" ? Calls.foreignIds(message) : []),
  renamed: entries.flatMap(({ renamed = [] }) => renamed)
})

/** The message as `reader` may see it: with reasoning only if `reader` made it. */
export const forReader = (entry: Entry, reader: Message.ModelRef | undefined): Message.Message => {
  const { message, reasoned } = entry
  if (reasoned === undefined) return message
  const { by, without } = reasoned
  return by !== undefined && Message.isSameModel(by, reader) ? message : without
}

const earlier = Message.user(Notice.earlier)

/** The same as `join`, for a provider: after the system messages a user speaks first. */
export const addMessage = (out: Array<Message.Message>, added: Message.Message): void => {
  const last = out.at(-1)
  if ((last === undefined || last.role === "system") && added.role === "assistant") out.push(earlier)
  join(out, added)
}

/**
 * System messages come first, and later ones become the user's. Neighbours of one role, as in a log with holes or after a cut, become
 * one message.
 */
export const join = (out: Array<Message.Message>, added: Message.Message): void => {
  const last = out.at(-1)
  const isLate = added.role === "system" && last !== undefined && last.role !== "system"
  const message = isLate ? Message.user(added.content) : added
  if (last?.role === "user" && message.role === "user") {
    out[out.length - 1] = { role: "user", content: [...last.content, ...message.content] }
  } else if (last?.role === "assistant" && message.role === "assistant") {
    out[out.length - 1] = { role: "assistant", content: [...last.content, ...message.content] }
  } else {
    out.push(message)
  }
}
