/**
 * The projection of a log to the messages a model gets. Whatever the log holds, even with events missing, the strictest
 * provider accepts the result: calls and results paired and adjacent in call order, ids unique, user and assistant in
 * turn, no blank blocks, no lone surrogates, no NUL. Calls that the provider executed itself stay with their results where
 * it put them.
 *
 * Incremental: `append` costs O(event), and a transcript made by appending equals the fold of the log. Ids are derived
 * from `seq`, so the same log gives the same bytes and provider caches keep working. Does not own instructions, which
 * are not in the log.
 */
import type * as DurableEvent from "./DurableEvent.ts"
import type * as Memory from "./Memory.ts"
import * as Message from "./Message.ts"
import * as RunEvent from "./RunEvent.ts"
import * as OpenCall from "./state/OpenCall.ts"
import * as ToolOutcome from "./ToolOutcome.ts"
import {
  addUser,
  all,
  type Answer,
  closeTurn,
  closing,
  empty,
  flushTail,
  type Input,
  isPaused,
  openCut,
  openTurn,
  pauseTurn,
  push,
  takeBack,
  toInput,
  type Transcript
} from "./transcript/Building.ts"
import { compact } from "./transcript/Compact.ts"
import * as Entries from "./transcript/Entries.ts"
import * as Notice from "./transcript/Notice.ts"
import * as Projection from "./transcript/Projection.ts"
import * as SharedMap from "./transcript/SharedMap.ts"
import * as Vector from "./transcript/Vector.ts"

export { empty, type Transcript } from "./transcript/Building.ts"
export { type Change, compact } from "./transcript/Compact.ts"
export { isSaid } from "./transcript/Entries.ts"

/** The transcript with what an event adds. */
export const append = (self: Transcript, event: RunEvent.Durable): Transcript => {
  switch (event._tag) {
    case "RunStarted": {
      let next = addHistory(closeTurn(self), event)
      for (const message of event.input.messages) next = addUser(next, toInput(event.seq, message.content))
      return next
    }
    case "RunResumed":
      return takeBack(self)
    case "TurnStarted":
      return { ...(isPaused(self) ? self : closeTurn(self)), calling: true }
    case "AssistantMessage":
      return openTurn(self, event)
    case "ToolSettled":
      return settle(self, event)
    case "InputReceived":
      return event.messages.reduce((next, message) => addInput(next, toInput(event.seq, message.content)), self)
    case "NoticeAdded":
      return addInput(self, toInput(event.seq, [Message.text(event.text)], true))
    case "ContextCompacted":
      return compact(self, event, event.seq)
    case "TurnFinished":
      return event.decision._tag === "Continue" && event.decision.reason === "pause" ? pauseTurn(self) : closeTurn(self)
    case "RunCompleted":
      return closeTurn(self)
    case "RunLimited":
    case "RunFailed":
    case "RunAborted":
      return leavesTurn(self, event) ? self : openCut(self, event, event.unfinished ?? [])
    default:
      return self
  }
}

/** Whether the next drive, if the run goes on, takes up the turn: that of a drive that died, or that left calls without outcomes. */
const leavesTurn = ({ open }: Transcript, end: RunEvent.End): boolean =>
  RunEvent.isCrash(end) ||
  (RunEvent.isLeft(end) && open?.calls.some((_, at) => SharedMap.get(open.results, at) === undefined) === true)

/** Input that comes while a turn is open goes after that turn. */
const addInput = (self: Transcript, input: Input): Transcript =>
  self.calling || self.open !== undefined
    ? { ...self, waiting: Vector.append(self.waiting, { ...input, isDuringCall: self.calling }) }
    : addUser(self, input)

/** Adds a conversation that began elsewhere, made legal like everything else. */
const addHistory = (self: Transcript, event: DurableEvent.Of<"RunStarted">): Transcript => {
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

/** The id under which models are sent a call of the turn that is open. */
export const sentId = ({ open }: Transcript, callId: string): string | undefined =>
  open?.calls[OpenCall.placeOf(callId, open.turn)]?.id

/** The ids under which models are sent the calls of an answer, in order, if this event adds it. */
export const sentIds = (self: Transcript, event: Answer): ReadonlyArray<string> =>
  openTurn(self, event).open.calls.map(({ id }) => id)

/** Whether `reader` made the last message, and goes on with it: `messages` has all of it then. */
export const isPausedFor = (self: Transcript, reader: Message.ModelRef | undefined): boolean =>
  isPaused(self) && Message.isSameModel(self.paused!.model, reader)

/** `messages`, as hooks may have left them, for `reader`: it goes on with a last one of its own; any other model is told to go on. */
export const prompt = (
  self: Transcript,
  reader: Message.ModelRef | undefined,
  messages: ReadonlyArray<Message.Message>
): { readonly messages: ReadonlyArray<Message.Message>; readonly continues: boolean } => {
  if (messages.at(-1)?.role !== "assistant") return { messages, continues: false }
  const continues = isPausedFor(self, reader)
  return { messages: continues ? messages : [...messages, Notice.goOnMessage], continues }
}

/** The first outcome of a call counts; a second one, or one of a call that is not open, changes nothing. */
const settle = (self: Transcript, event: DurableEvent.Of<"ToolSettled">): Transcript => {
  const { open } = self
  if (open === undefined || open.runId !== event.runId) return self
  const place = OpenCall.placeOf(event.callId, open.turn)
  if (open.calls[place] === undefined || SharedMap.get(open.results, place) !== undefined) return self
  const result = ToolOutcome.toResult(event.outcome, event.edited)
  return { ...self, open: { ...open, results: SharedMap.add(open.results, place, result) } }
}

/** The transcript of a log, or of any part of one. */
export const fromLog = (log: Iterable<RunEvent.Durable>): Transcript => {
  let transcript = empty
  for (const event of log) transcript = append(transcript, event)
  return transcript
}

/**
 * The messages as of now, for `reader`, after the system message if there is one. Calls that are still open are
 * answered with what is known. `reader` gets only its own reasoning; without a reader there is none.
 */
export const messages = (
  self: Transcript,
  reader?: Message.ModelRef,
  system?: Message.SystemMessage
): ReadonlyArray<Message.Message> => {
  const out = Projection.messages(self.settled, reader, system)
  const rest = closing(self, reader)
  for (let i = 0; i < rest.length; i++) Entries.addMessage(out, Entries.forReader(rest[i]!, reader))
  return out
}

/**
 * What was said, for a person to read: the messages without reasoning, and without those that the runtime has put in the user's place,
 * such as that an answer was cut off. A notice within a message of the user is part of it: a fold without `NoticeAdded` has none.
 */
export const said = (self: Transcript): ReadonlyArray<Message.Message> => {
  const out: Array<Message.Message> = []
  for (const entry of all(self)) {
    if (entry.message.role !== "user" || Entries.isSaid(entry)) Entries.join(out, Entries.forReader(entry, undefined))
  }
  return out
}

/** What the model was sent before its open turn, or everything if none is open. */
export const beforeTurn = (self: Transcript): Transcript =>
  self.open === undefined ? self : { ...self, open: undefined, paused: self.open.resumed, waiting: Vector.empty }

/** How many messages there are. */
export const size = (self: Transcript): number => self.settled.length + closing(self).length

/** The last message. */
export const last = (self: Transcript): Message.Message | undefined => {
  const rest = closing(self)
  return (rest.at(-1) ?? Vector.last(self.settled))?.message
}

/** Whether the last message is the user's or a tool's, or one to go on with, so that a model has something to answer. */
export const awaitsModel = (self: Transcript): boolean => {
  const role = last(self)?.role
  return role === "user" || role === "tool" || (role === "assistant" && isPaused(self))
}

/** All messages with their `seq`, oldest first, a call's results after its message: the places where a prefix may be cut off. */
export const entries = (self: Transcript): ReadonlyArray<Entries.Entry> => all(self)

/** What is remembered of what compactions left out. */
export const memory = (self: Transcript): Memory.Memory | undefined => {
  // only system messages may come before it
  for (let i = 0; i < self.settled.length; i++) {
    const { memory, message } = self.settled.items[i]!
    if (memory !== undefined || message.role !== "system") return memory
  }
  return undefined
}

/** What a person said last, without earlier unanswered input in the same message. */
export const latestSaid = (self: Transcript): Message.UserMessage | undefined => {
  const found = all(self).findLast(Entries.isSaid)
  if (found?.message.role !== "user") return undefined
  return found.latest === undefined
    ? found.message
    : { role: "user", content: found.message.content.slice(found.latest) }
}

/** `seq` of the message whose calls are open: it and what follows it cannot be replaced without loss. */
export const openSeq = ({ open }: Transcript): number | undefined => open?.isCut === true ? undefined : open?.seq

/** A sum over the messages; given the sum of an older version, only what is new is added. */
export interface Total {
  readonly settled: Vector.Vector<Entries.Entry>
  readonly ofSettled: number
  readonly sum: number
}

/** `before` is a total with the same `of`; one of another transcript is of no use, but does no harm. */
export const total = (self: Transcript, of: (message: Message.Message) => number, before?: Total): Total => {
  const { settled } = self
  const isOlder = before !== undefined && before.settled.items === settled.items &&
    before.settled.length <= settled.length
  let ofSettled = isOlder ? before.ofSettled : 0
  for (let i = isOlder ? before.settled.length : 0; i < settled.length; i++) ofSettled += of(settled.items[i]!.message)
  return { settled, ofSettled, sum: closing(self).reduce((sum, { message }) => sum + of(message), ofSettled) }
}
