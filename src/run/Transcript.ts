/**
 * The projection of a log to the messages a model gets. Whatever the log holds, also with events missing, the result is
 * what the strictest provider accepts: calls and results paired and adjacent in call order, ids unique, user and
 * assistant in turn, no blank blocks, no lone surrogates, no NUL.
 *
 * Incremental: `append` costs O(event) and a transcript made by appending equals the fold of the log. Ids are derived
 * from `seq`, so the same log gives the same bytes and provider caches keep working. Does not own instructions, which
 * are not in the log.
 */
import * as HashSet from "effect/HashSet"
import * as Calls from "./Calls.ts"
import * as Entries from "./Entries.ts"
import * as Legality from "./Legality.ts"
import * as Message from "./Message.ts"
import type * as RunEvent from "./RunEvent.ts"
import { callId } from "./RunState.ts"
import * as ToolOutcome from "./ToolOutcome.ts"

/** The assistant message whose calls are not all settled, or whose turn is not over. */
interface OpenTurn extends Entries.Turn {
  readonly runId: string
  readonly turn: number
}

/** `entries` is shared between versions and only ever pushed to; a version sees its first `length`. */
export interface Transcript {
  readonly entries: Array<Entries.Entry>
  readonly length: number
  /** the user message being gathered: neighbouring inputs are one message */
  readonly tail: { readonly seq: number; readonly content: ReadonlyArray<Message.UserPart> } | undefined
  readonly open: OpenTurn | undefined
  /** a model call is under way: inputs wait until its turn is over */
  readonly calling: boolean
  readonly waiting: ReadonlyArray<{ readonly seq: number; readonly content: ReadonlyArray<Message.UserPart> }>
  /** ids that providers gave to calls they executed themselves */
  readonly taken: HashSet.HashSet<string>
}

export const empty: Transcript = {
  entries: [],
  length: 0,
  tail: undefined,
  open: undefined,
  calling: false,
  waiting: [],
  taken: HashSet.empty()
}

export const append = (self: Transcript, event: RunEvent.Durable): Transcript => {
  switch (event._tag) {
    case "RunStarted": {
      let next = addHistory(closeTurn(self), event)
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
 * The messages as of now, for `reader`, behind the system message where there is one: calls still open are answered with
 * what is known. Reasoning is only in messages that `reader` made itself; without a reader there is none.
 */
export const messages = (
  self: Transcript,
  reader?: Message.ModelRef,
  system?: Message.SystemMessage
): ReadonlyArray<Message.Message> => {
  const rest = closing(self)
  const out: Array<Message.Message> = system === undefined ? [] : [system]
  const first = self.length > 0 ? self.entries[0] : rest[0]
  if (first !== undefined && first.message.role !== "user" && first.message.role !== "system") {
    out.push(Message.user("(The conversation began earlier.)"))
  }
  for (let i = 0; i < self.length; i++) addMessage(out, forReader(self.entries[i]!, reader))
  for (const entry of rest) addMessage(out, forReader(entry, reader))
  return out
}

/** How many messages there are. */
export const size = (self: Transcript): number => self.length + closing(self).length

/** True when the last word is the user's or a tool's, so that a model has something to answer. */
export const awaitsModel = (self: Transcript): boolean => {
  const rest = closing(self)
  const last = rest[rest.length - 1] ?? self.entries[self.length - 1]
  return last?.message.role === "user" || last?.message.role === "tool"
}

/** Where a prefix may be cut off: all messages with their `seq`, oldest first, a call's results behind its message. */
export const entries = (
  self: Transcript
): ReadonlyArray<{ readonly seq: number; readonly message: Message.Message }> => all(self)

// ---- building -----------------------------------------------------------------------------------------------------

const all = (self: Transcript): Array<Entries.Entry> => [...self.entries.slice(0, self.length), ...closing(self)]

const push = (self: Transcript, ...added: ReadonlyArray<Entries.Entry>): Transcript => {
  const isNewest = self.length > 0 && self.entries.length === self.length
  const entries = isNewest ? self.entries : self.entries.slice(0, self.length)
  for (const entry of added) entries.push(entry)
  return { ...self, entries, length: entries.length }
}

const flushTail = (self: Transcript): Transcript =>
  self.tail === undefined ? self : { ...push(self, userEntry(self.tail)), tail: undefined }

const userEntry = (input: NonNullable<Transcript["tail"]>): Entries.Entry => ({
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

const addHistory = (self: Transcript, event: Extract<RunEvent.Durable, { _tag: "RunStarted" }>): Transcript => {
  const { history } = event.input
  if (history === undefined) return self
  const { entries, taken } = Entries.fromMessages(history, event.seq, event.seq, self.taken)
  return entries.reduce<Transcript>(
    (next, entry) =>
      entry.message.role === "user" ? addUser(next, entry.seq, entry.message.content) : push(flushTail(next), entry),
    {
      ...self,
      taken
    }
  )
}

const openTurn = (self: Transcript, event: Extract<RunEvent.Durable, { _tag: "AssistantMessage" }>): Transcript => {
  const closed = self.open === undefined ? self : closeTurn(self)
  const { calls, content, taken } = Calls.prepare(event.seq, event.message.content, closed.taken)
  const { model, runId, seq, turn } = event
  return { ...flushTail(closed), taken, open: { seq, runId, turn, model, content, calls, results: new Map() } }
}

const settle = (self: Transcript, event: Extract<RunEvent.Durable, { _tag: "ToolSettled" }>): Transcript => {
  const { open } = self
  if (open === undefined || open.runId !== event.runId) return self
  const place = open.calls.findIndex((_, i) => callId(open.turn, i) === event.callId)
  if (place < 0 || open.results.has(place)) return self
  return { ...self, open: { ...open, results: new Map(open.results).set(place, ToolOutcome.toResult(event.outcome)) } }
}

/** Ends the turn under way: its message and results get their place, then what came in meanwhile. */
const closeTurn = (self: Transcript): Transcript => {
  const closed = self.open === undefined ? self : push(flushTail(self), ...Entries.fromTurn(self.open))
  const next: Transcript = { ...closed, open: undefined, calling: false, waiting: [] }
  return self.waiting.reduce((next, input) => addUser(next, input.seq, input.content), next)
}

/** What closing the turn now would add behind the settled entries; leaves `self` and its siblings untouched. */
const closing = (self: Transcript): ReadonlyArray<Entries.Entry> => {
  const out: Array<Entries.Entry> = []
  if (self.tail !== undefined && (self.open !== undefined || self.waiting.length === 0)) out.push(userEntry(self.tail))
  if (self.open !== undefined) out.push(...Entries.fromTurn(self.open))
  if (self.waiting.length === 0) return out
  const base: Transcript = { ...empty, tail: self.open === undefined ? self.tail : undefined }
  const { tail } = self.waiting.reduce((next, input) => addUser(next, input.seq, input.content), base)
  if (tail !== undefined) out.push(userEntry(tail))
  return out
}

/** Replaces a prefix. A strategy may be anybody's, so its messages are made legal like everything else. */
const compact = (self: Transcript, event: Extract<RunEvent.Durable, { _tag: "ContextCompacted" }>): Transcript => {
  const kept = all(self).filter((entry) => entry.seq > event.upTo)
  const { entries: replaced, taken } = Entries.fromMessages(event.replacement, event.upTo, event.seq, self.taken)
  const entries = [...replaced, ...kept]
  const last = entries[entries.length - 1]
  if (last?.message.role !== "user") return { ...empty, taken, entries, length: entries.length }
  entries.pop()
  return { ...empty, taken, entries, length: entries.length, tail: { seq: last.seq, content: last.message.content } }
}

// ---- reading ------------------------------------------------------------------------------------------------------

const forReader = (entry: Entries.Entry, reader: Message.ModelRef | undefined): Message.Message => {
  const { message, reasoned } = entry
  if (reasoned === undefined) return message
  const { by, without } = reasoned
  return by !== undefined && by.provider === reader?.provider && by.name === reader.name ? message : without
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
