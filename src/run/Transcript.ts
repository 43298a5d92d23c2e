/**
 * The projection of a log to the messages a model gets. Whatever the log holds, also with events missing, the result is
 * what the strictest provider accepts: calls and results paired and adjacent in call order, ids unique, user and
 * assistant in turn, no blank blocks, no lone surrogates, no NUL.
 *
 * Incremental: `append` costs O(event) and a transcript made by appending equals the fold of the log. Ids are derived
 * from `seq`, so the same log gives the same bytes and provider caches keep working. Does not own instructions, which
 * are not in the log.
 */
import * as Legality from "./Legality.ts"
import * as Message from "./Message.ts"
import type * as RunEvent from "./RunEvent.ts"
import { callId } from "./RunState.ts"
import * as ToolOutcome from "./ToolOutcome.ts"

/** A message in its place. Where it holds reasoning: by which model, and the message without it for all others. */
interface Entry {
  readonly seq: number
  readonly message: Message.Message
  readonly reasoned?: { readonly by: Message.ModelRef; readonly without: Message.Message }
}

/** The assistant message whose calls are not all settled, or whose turn is not over. */
interface OpenTurn {
  readonly seq: number
  readonly runId: string
  readonly model: Message.ModelRef
  readonly content: ReadonlyArray<Message.AssistantPart>
  readonly calls: ReadonlyArray<{ readonly id: string; readonly callId: string; readonly name: string }>
  readonly outcomes: ReadonlyMap<string, ToolOutcome.ToolOutcome>
}

/** `entries` is shared between versions and only ever pushed to; a version sees its first `length`. */
export interface Transcript {
  readonly entries: Array<Entry>
  readonly length: number
  /** the user message being gathered: neighbouring inputs are one message */
  readonly tail: { readonly seq: number; readonly content: ReadonlyArray<Message.UserPart> } | undefined
  readonly open: OpenTurn | undefined
  /** a model call is under way: inputs wait until its turn is over */
  readonly calling: boolean
  readonly waiting: ReadonlyArray<{ readonly seq: number; readonly content: ReadonlyArray<Message.UserPart> }>
}

export const empty: Transcript = {
  entries: [],
  length: 0,
  tail: undefined,
  open: undefined,
  calling: false,
  waiting: []
}

export const append = (self: Transcript, event: RunEvent.Durable): Transcript => {
  switch (event._tag) {
    case "RunStarted": {
      let next = closeTurn(self)
      for (const message of event.input.history ?? []) {
        next = message.role === "user"
          ? addUser(next, event.seq, message.content)
          : addAssistant(next, event.seq, message.content)
      }
      for (const message of event.input.messages) next = addUser(next, event.seq, message.content)
      return next
    }
    case "TurnStarted":
      return { ...closeTurn(self), calling: true }
    case "AssistantMessage":
      return openTurn({ ...self, calling: false }, event)
    case "ToolSettled":
      return settle(self, event)
    case "InputReceived":
      return event.messages.reduce((next, message) => addInput(next, event.seq, message.content), self)
    case "NoticeAdded":
      return addInput(self, event.seq, [Message.text(event.text)])
    case "ContextCompacted":
      return compact(self, event)
    case "TurnFinished":
    case "RunCompleted":
    case "RunLimited":
    case "RunFailed":
    case "RunAborted":
      return closeTurn(self)
    default:
      return self
  }
}

export const fromLog = (log: Iterable<RunEvent.Durable>): Transcript => {
  let transcript = empty
  for (const event of log) transcript = append(transcript, event)
  return transcript
}

/**
 * The messages as of now, for `reader`: calls still open are answered with what is known. Reasoning is only in
 * messages that `reader` made itself; without a reader there is none.
 */
export const messages = (self: Transcript, reader?: Message.ModelRef): ReadonlyArray<Message.Message> => {
  const out: Array<Message.Message> = []
  for (const entry of all(self)) addMessage(out, forReader(entry, reader))
  if (out.length > 0 && out[0]!.role !== "user") out.unshift(Message.user("(The conversation began earlier.)"))
  return out
}

/** How many messages there are. */
export const size = (self: Transcript): number => self.length + closing(self).length

/** True when the last word is the user's or a tool's, so that a model has something to answer. */
export const awaitsModel = (self: Transcript): boolean => {
  const rest = closing(self)
  const last = rest[rest.length - 1] ?? self.entries[self.length - 1]
  return last !== undefined && last.message.role !== "assistant"
}

/** Where a prefix may be cut off: all messages with their `seq`, oldest first, a call's results behind its message. */
export const entries = (
  self: Transcript
): ReadonlyArray<{ readonly seq: number; readonly message: Message.Message }> => all(self)

// ---- building -----------------------------------------------------------------------------------------------------

const all = (self: Transcript): Array<Entry> => [...self.entries.slice(0, self.length), ...closing(self)]

const push = (self: Transcript, ...added: ReadonlyArray<Entry>): Transcript => {
  const isNewest = self.length > 0 && self.entries.length === self.length
  const entries = isNewest ? self.entries : self.entries.slice(0, self.length)
  for (const entry of added) entries.push(entry)
  return { ...self, entries, length: entries.length }
}

const flushTail = (self: Transcript): Transcript =>
  self.tail === undefined ? self : { ...push(self, userEntry(self.tail)), tail: undefined }

const userEntry = (input: NonNullable<Transcript["tail"]>): Entry => ({
  seq: input.seq,
  message: { role: "user", content: input.content }
})

const addUser = (self: Transcript, seq: number, content: ReadonlyArray<Message.UserPart>): Transcript => {
  const clean = content.flatMap(Legality.cleanPart)
  if (clean.length === 0) return self
  return { ...self, tail: { seq, content: self.tail === undefined ? clean : [...self.tail.content, ...clean] } }
}

const addInput = (self: Transcript, seq: number, content: ReadonlyArray<Message.UserPart>): Transcript =>
  self.calling || self.open !== undefined
    ? { ...self, waiting: [...self.waiting, { seq, content }] }
    : addUser(self, seq, content)

const addAssistant = (self: Transcript, seq: number, content: ReadonlyArray<Message.AssistantPart>): Transcript => {
  const clean = content.flatMap(Legality.cleanPart)
  return Legality.isBlank(clean) ? self : push(flushTail(self), { seq, message: { role: "assistant", content: clean } })
}

const openTurn = (self: Transcript, event: Extract<RunEvent.Durable, { _tag: "AssistantMessage" }>): Transcript => {
  const closed = self.open === undefined ? self : closeTurn(self)
  const calls: Array<OpenTurn["calls"][number]> = []
  const content = event.message.content.flatMap((part): ReadonlyArray<Message.AssistantPart> => {
    if (part.type !== "tool-call" || part.providerExecuted === true) return Legality.cleanPart(part)
    const id = Legality.derivedId(event.seq, calls.length)
    calls.push({ id, callId: callId(event.turn, calls.length), name: Legality.cleanName(part.name) })
    return [{ ...part, id, name: calls[calls.length - 1]!.name, params: Legality.cleanParams(part.params) }]
  })
  return {
    ...flushTail(closed),
    open: { seq: event.seq, runId: event.runId, model: event.model, content, calls, outcomes: new Map() }
  }
}

const settle = (self: Transcript, event: Extract<RunEvent.Durable, { _tag: "ToolSettled" }>): Transcript => {
  const { open } = self
  if (
    open === undefined || open.runId !== event.runId || open.outcomes.has(event.callId) ||
    !open.calls.some((call) => call.callId === event.callId)
  ) return self
  return { ...self, open: { ...open, outcomes: new Map(open.outcomes).set(event.callId, event.outcome) } }
}

/** Ends the turn under way: its message and results get their place, then what came in meanwhile. */
const closeTurn = (self: Transcript): Transcript => {
  const closed = self.open === undefined ? self : push(flushTail(self), ...turnEntries(self.open))
  const next: Transcript = { ...closed, open: undefined, calling: false, waiting: [] }
  return self.waiting.reduce((next, input) => addUser(next, input.seq, input.content), next)
}

/** What closing the turn now would add behind the settled entries; leaves `self` and its siblings untouched. */
const closing = (self: Transcript): ReadonlyArray<Entry> => {
  const out: Array<Entry> = []
  if (self.tail !== undefined && (self.open !== undefined || self.waiting.length === 0)) out.push(userEntry(self.tail))
  if (self.open !== undefined) out.push(...turnEntries(self.open))
  if (self.waiting.length === 0) return out
  const base: Transcript = { ...empty, tail: self.open === undefined ? self.tail : undefined }
  const { tail } = self.waiting.reduce((next, input) => addUser(next, input.seq, input.content), base)
  if (tail !== undefined) out.push(userEntry(tail))
  return out
}

/** A settled or unsettled turn as an assistant message and, where it made calls, their results. */
const turnEntries = (open: OpenTurn): ReadonlyArray<Entry> => {
  if (Legality.isBlank(open.content)) return []
  const { content, model, seq } = open
  const others = content.filter((part) => part.type !== "reasoning")
  const message: Entry = {
    seq,
    message: { role: "assistant", content },
    ...(others.length === content.length
      ? {}
      : { reasoned: { by: model, without: { role: "assistant", content: others } } })
  }
  if (open.calls.length === 0) return [message]
  const results = open.calls.map((call): Message.ToolResultPart => {
    const { isFailure, result } = ToolOutcome.toResult(open.outcomes.get(call.callId) ?? { _tag: "OutcomeUnknown" })
    const clean = Legality.cleanJson(result)
    return {
      type: "tool-result",
      id: call.id,
      name: call.name,
      result: typeof clean === "string" && clean.trim() === "" ? "(no output)" : clean,
      isFailure
    }
  })
  return [message, { seq, message: { role: "tool", content: results } }]
}

const compact = (self: Transcript, event: Extract<RunEvent.Durable, { _tag: "ContextCompacted" }>): Transcript => {
  const kept = all(self).filter((entry) => entry.seq > event.upTo)
  const entries = [...event.replacement.map((message): Entry => ({ seq: event.upTo, message })), ...kept]
  const last = entries[entries.length - 1]
  if (last?.message.role !== "user") return { ...empty, entries, length: entries.length }
  entries.pop()
  return { ...empty, entries, length: entries.length, tail: { seq: last.seq, content: last.message.content } }
}

// ---- reading ------------------------------------------------------------------------------------------------------

const forReader = (entry: Entry, reader: Message.ModelRef | undefined): Message.Message => {
  const { message, reasoned } = entry
  if (reasoned === undefined) return message
  const { by, without } = reasoned
  return by.provider === reader?.provider && by.name === reader.name ? message : without
}

/** Neighbours of one role, as a log with holes or an older prefix may leave them, become one message. */
const addMessage = (out: Array<Message.Message>, message: Message.Message): void => {
  const last = out[out.length - 1]
  if (last?.role === "user" && message.role === "user") {
    out[out.length - 1] = { role: "user", content: [...last.content, ...message.content] }
  } else if (last?.role === "assistant" && message.role === "assistant") {
    out[out.length - 1] = { role: "assistant", content: [...last.content, ...message.content] }
  } else out.push(message)
}
