/**
 * The projection of a log to the messages a model gets. Whatever the log holds, also with events missing, the result is
 * what the strictest provider accepts: calls and results paired and adjacent in call order, ids unique, user and
 * assistant in turn, no blank blocks, no lone surrogates, no NUL.
 *
 * Incremental: `append` costs O(event) and a transcript made by appending equals the fold of the log. Ids are derived
 * from `seq`, so the same log gives the same bytes and provider caches keep working. Does not own instructions, which
 * are not in the log.
 */
import * as HashMap from "effect/HashMap"
import * as HashSet from "effect/HashSet"
import * as Message from "./Message.ts"
import type * as RunEvent from "./RunEvent.ts"
import * as OpenCall from "./state/OpenCall.ts"
import * as ToolOutcome from "./ToolOutcome.ts"
import * as Calls from "./transcript/Calls.ts"
import * as Entries from "./transcript/Entries.ts"
import * as Legality from "./transcript/Legality.ts"
import * as Projection from "./transcript/Projection.ts"
import * as Vector from "./Vector.ts"

/** The assistant message whose calls are not all settled, or whose turn is not over. */
interface OpenTurn extends Entries.Turn {
  readonly runId: string
  readonly turn: number
}

/** What one input adds. */
interface Input extends Entries.Origin {
  readonly seq: number
  readonly content: Vector.Vector<Message.UserPart>
  readonly isNotice: boolean
}

export interface Transcript {
  readonly settled: Vector.Vector<Entries.Entry>
  /** the user message being gathered: neighbouring inputs are one message */
  readonly tail: Input | undefined
  readonly open: OpenTurn | undefined
  /** a model call is under way: inputs wait until its turn is over */
  readonly calling: boolean
  readonly waiting: Vector.Vector<Input>
  /** ids that providers gave to calls they executed themselves */
  readonly taken: HashSet.HashSet<string>
}

export const empty: Transcript = {
  settled: Vector.empty,
  tail: undefined,
  open: undefined,
  calling: false,
  waiting: Vector.empty,
  taken: HashSet.empty()
}

export const append = (self: Transcript, event: RunEvent.Durable): Transcript => {
  switch (event._tag) {
    case "RunStarted": {
      let next = addHistory(closeTurn(self), event)
      for (const message of event.input.messages) next = addUser(next, toInput(event.seq, message.content))
      return next
    }
    case "TurnStarted":
      return { ...closeTurn(self), calling: true }
    case "AssistantMessage":
      return openTurn({ ...self, calling: false }, event)
    case "ToolSettled":
      return settle(self, event)
    case "InputReceived":
      return event.messages.reduce((next, message) => addInput(next, toInput(event.seq, message.content)), self)
    case "NoticeAdded":
      return addInput(self, toInput(event.seq, [Message.text(event.text)], true))
    case "ContextCompacted":
      return compact(self, event)
    case "TurnFinished":
    case "RunCompleted":
    case "RunLimited":
    case "RunFailed":
      return closeTurn(self)
    case "RunAborted":
      // the drive died in its turn, which the next one takes up where the run goes on
      return event.reason === "crashed" ? self : closeTurn(self)
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
  const out = Projection.messages(self.settled, reader)
  if (system !== undefined) out.unshift(system)
  for (const entry of closing(self)) Entries.addMessage(out, Entries.forReader(entry, reader))
  return out
}

/** What the model was sent before its open turn, or all there is where none is open. */
export const beforeTurn = (self: Transcript): Transcript =>
  self.open === undefined ? self : { ...self, open: undefined, waiting: Vector.empty }

/** How many messages there are. */
export const size = (self: Transcript): number => self.settled.length + closing(self).length

/** The last message. */
export const last = (self: Transcript): Message.Message | undefined => {
  const rest = closing(self)
  return (rest[rest.length - 1] ?? Vector.last(self.settled))?.message
}

/** True when the last word is the user's or a tool's, so that a model has something to answer. */
export const awaitsModel = (self: Transcript): boolean => {
  const role = last(self)?.role
  return role === "user" || role === "tool"
}

/** Where a prefix may be cut off: all messages with their `seq`, oldest first, a call's results behind its message. */
export const entries = (self: Transcript): ReadonlyArray<Entries.Entry> => all(self)

// ---- building -----------------------------------------------------------------------------------------------------

const all = (self: Transcript): Array<Entries.Entry> => [...Vector.toArray(self.settled), ...closing(self)]

const push = (self: Transcript, ...added: ReadonlyArray<Entries.Entry>): Transcript => ({
  ...self,
  settled: Vector.append(self.settled, ...added)
})

const flushTail = (self: Transcript): Transcript =>
  self.tail === undefined ? self : { ...push(self, userEntry(self.tail)), tail: undefined }

const userEntry = ({ content, from, isDuringCall, isNotice, seq }: Input): Entries.Entry => ({
  seq,
  from,
  ...(isDuringCall === true ? { isDuringCall } : {}),
  ...(isNotice ? { isNotice } : {}),
  message: { role: "user", content: Vector.toArray(content) }
})

const addUser = (self: Transcript, input: Input): Transcript => {
  if (input.content.length === 0) return self
  const { tail } = self
  return {
    ...self,
    tail: tail === undefined
      ? input
      : {
        ...tail,
        seq: input.seq,
        isNotice: tail.isNotice && input.isNotice,
        content: Vector.append(tail.content, ...Vector.toArray(input.content))
      }
  }
}

const addInput = (self: Transcript, input: Input): Transcript =>
  self.calling || self.open !== undefined
    ? { ...self, waiting: Vector.append(self.waiting, { ...input, isDuringCall: self.calling }) }
    : addUser(self, input)

const toInput = (seq: number, content: ReadonlyArray<Message.UserPart>, isNotice = false): Input => ({
  seq,
  from: seq,
  isNotice,
  content: Vector.make(content.flatMap(Legality.cleanPart))
})

const addHistory = (self: Transcript, event: Extract<RunEvent.Durable, { _tag: "RunStarted" }>): Transcript => {
  const { history } = event.input
  if (history === undefined) return self
  const { entries, taken } = Entries.fromMessages(history, event.seq, event.seq, self.taken)
  let next: Transcript = { ...self, taken }
  for (const entry of entries) {
    const { message, seq } = entry
    next = message.role === "user" ? addUser(next, toInput(seq, message.content)) : push(flushTail(next), entry)
  }
  return next
}

const openTurn = (self: Transcript, event: Extract<RunEvent.Durable, { _tag: "AssistantMessage" }>): Transcript => {
  const closed = self.open === undefined ? self : closeTurn(self)
  const { calls, content, taken } = Calls.prepare(event.seq, event.message.content, closed.taken)
  const { model, runId, seq, turn } = event
  return { ...flushTail(closed), taken, open: { seq, runId, turn, model, content, calls, results: HashMap.empty() } }
}

const settle = (self: Transcript, event: Extract<RunEvent.Durable, { _tag: "ToolSettled" }>): Transcript => {
  const { open } = self
  if (open === undefined || open.runId !== event.runId) return self
  const place = OpenCall.placeOf(event.callId, open.turn)
  if (open.calls[place] === undefined || HashMap.has(open.results, place)) return self
  const result = ToolOutcome.toResult(event.outcome, event.edited)
  return { ...self, open: { ...open, results: HashMap.set(open.results, place, result) } }
}

/** Ends the turn under way: its message and results get their place, then what came in meanwhile. */
const closeTurn = (self: Transcript): Transcript => {
  const closed = self.open === undefined ? self : push(flushTail(self), ...Entries.fromTurn(self.open))
  const next: Transcript = { ...closed, open: undefined, calling: false, waiting: Vector.empty }
  return Vector.toArray(self.waiting).reduce(addUser, next)
}

/** What closing the turn now would add behind the settled entries; leaves `self` and its siblings untouched. */
const closing = (self: Transcript): ReadonlyArray<Entries.Entry> => {
  const out: Array<Entries.Entry> = []
  // whatever was gathered got its place when the turn opened
  if (self.open !== undefined) out.push(...Entries.fromTurn(self.open))
  const base: Transcript = { ...empty, tail: self.open === undefined ? self.tail : undefined }
  const { tail } = Vector.toArray(self.waiting).reduce(addUser, base)
  if (tail !== undefined) out.push(userEntry(tail))
  return out
}

/** Replaces a prefix. A strategy may be anybody's, so its messages are made legal like everything else. */
const compact = (self: Transcript, event: Extract<RunEvent.Durable, { _tag: "ContextCompacted" }>): Transcript => {
  // no message is made of events that are still to come
  const upTo = Math.min(event.upTo, event.seq)
  const kept = all(self).filter((entry) => entry.seq > upTo)
  const { entries: replaced, taken } = Entries.fromMessages(event.replacement, upTo, event.seq, self.taken)
  const entries = [...replaced, ...kept]
  const last = entries[entries.length - 1]
  if (last?.message.role !== "user") return { ...empty, taken, settled: Vector.make(entries) }
  entries.pop()
  const { from, isDuringCall } = last
  const tail = { ...toInput(last.seq, last.message.content, last.isNotice), from, isDuringCall }
  return { ...empty, taken, settled: Vector.make(entries), tail }
}
