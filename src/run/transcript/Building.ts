/**
 * A transcript while it is being built: messages in their places, the user's message being gathered, the turn whose
 * calls are open. Pure.
 *
 * Does not own what events do to it (`Transcript`), nor compactions (`Compact`).
 */
import * as HashSet from "effect/HashSet"
import type * as DurableEvent from "../DurableEvent.ts"
import * as Message from "../Message.ts"
import * as Calls from "./Calls.ts"
import * as Entries from "./Entries.ts"
import * as Legality from "./Legality.ts"
import * as Notice from "./Notice.ts"
import * as SharedMap from "./SharedMap.ts"
import * as Vector from "./Vector.ts"

/** The assistant message whose calls are not all settled, or whose turn is not over. */
interface OpenTurn extends Entries.Turn {
  readonly runId: string
  readonly turn: number
  /** what its model said, in the message that it goes on with too, and the ids that were taken before */
  readonly said: ReadonlyArray<Message.AssistantPart>
  readonly takenBefore: Transcript["taken"]
  /** the message that it went on with */
  readonly resumed: PausedTurn | undefined
  /** an answer that was cut off: it is said once something follows it, and taken back if its run goes on */
  readonly isCut?: boolean
}

/** An assistant message that its provider has not finished, and goes on with if it is sent back as it is. */
export interface PausedTurn extends OpenTurn {
  /** for its own model: with the calls that its provider has not answered yet, which no other may see */
  readonly whole: ReadonlyArray<Message.AssistantPart>
}

/** What one input adds. */
export interface Input extends Entries.Origin {
  readonly seq: number
  readonly content: Vector.Vector<Message.UserPart>
  readonly isNotice: boolean
  /** see `Entry` */
  readonly latest?: number | undefined
}

export interface Transcript {
  readonly settled: Vector.Vector<Entries.Entry>
  /** the user message being gathered: neighbouring inputs are one message */
  readonly tail: Input | undefined
  readonly open: OpenTurn | undefined
  /** the last message, whose turn is over; what comes after it, but for an answer of its model, ends it */
  readonly paused: PausedTurn | undefined
  /** a model call is under way: inputs wait until its turn is over */
  readonly calling: boolean
  readonly waiting: Vector.Vector<Input>
  /** ids that providers gave to calls that they executed themselves */
  readonly taken: HashSet.HashSet<string>
}

export const empty: Transcript = {
  settled: Vector.empty,
  tail: undefined,
  open: undefined,
  paused: undefined,
  calling: false,
  waiting: Vector.empty,
  taken: HashSet.empty()
}

export const all = (self: Transcript): Array<Entries.Entry> => [...Vector.toArray(self.settled), ...closing(self)]

export const push = (self: Transcript, ...added: ReadonlyArray<Entries.Entry>): Transcript => ({
  ...self,
  settled: Vector.append(self.settled, ...added)
})

export const flushTail = (self: Transcript): Transcript =>
  self.tail === undefined ? self : { ...push(self, userEntry(self.tail)), tail: undefined }

const userEntry = ({ content, from, isDuringCall, isNotice, latest, seq }: Input): Entries.Entry => ({
  seq,
  from,
  ...(isDuringCall === true ? { isDuringCall } : {}),
  ...(isNotice ? { isNotice } : {}),
  ...(latest === undefined ? {} : { latest }),
  message: { role: "user", content: Vector.toArray(content) }
})

export const addUser = (self: Transcript, input: Input): Transcript => {
  const tail = gather(self.tail, input)
  return self.paused === undefined || tail === undefined ? { ...self, tail } : { ...endPause(self), tail }
}

/** What comes next does not go on with the message that was paused. */
export const endPause = (self: Transcript): Transcript =>
  self.paused === undefined ? self : { ...push(self, ...Entries.fromTurn(self.paused)), paused: undefined }

/** Another model, which has nothing to go on with, was told to go on after the message, and has answered. */
export const tellToGoOn = (self: Transcript): Transcript => {
  const { paused } = self
  const ended = endPause(self)
  // a message that says nothing was not sent, and what was sent ended with what it answers
  if (paused === undefined || ended.settled.length === self.settled.length) return ended
  const { from = paused.seq, seq } = paused
  return push(ended, { seq, from, isNotice: true, message: Notice.goOnMessage })
}

const gather = (tail: Input | undefined, input: Input): Input | undefined => {
  if (input.content.length === 0) return tail
  return tail === undefined
    ? input
    : {
      ...tail,
      seq: input.seq,
      isNotice: tail.isNotice && input.isNotice,
      // an event may say several things at once
      latest: input.isNotice || input.seq === tail.seq ? tail.latest : tail.content.length,
      content: Vector.appendAll(tail.content, Vector.toArray(input.content))
    }
}

/** The entries of a turn that is over. Its model is told where an answer was cut off. */
const fromTurn = (turn: OpenTurn): ReadonlyArray<Entries.Entry> => {
  const entries = Entries.fromTurn(turn)
  const { isCut = false, seq } = turn
  return isCut ? [...entries, { seq, from: seq, isNotice: true, message: Notice.cutOffMessage }] : entries
}

const gatherAll = (tail: Input | undefined, waiting: Transcript["waiting"]): Input | undefined =>
  waiting.length === 0 ? tail : Vector.toArray(waiting).reduce(gather, tail)

export const toInput = (seq: number, content: ReadonlyArray<Message.UserPart>, isNotice = false): Input => ({
  seq,
  from: seq,
  isNotice,
  content: Vector.make(Legality.cleanParts(content))
})

/** Whether the last message is one that its model goes on with. */
export const isPaused = ({ paused, waiting }: Transcript): boolean => paused !== undefined && waiting.length === 0

/** What is used of an answer's event. */
export type Answer = Pick<DurableEvent.Of<"AssistantMessage">, "message" | "model" | "runId" | "seq" | "turn">

/**
 * Opens an assistant message until its turn is over; one that a log with holes left open is closed first. Where its model goes on with a
 * message that was paused, the two are one.
 */
export const openTurn = (self: Transcript, { message, model, runId, seq, turn }: Answer) => {
  const closed = self.open === undefined ? self : closeTurn(self)
  const { paused } = closed
  const resumed = paused !== undefined && Message.isSameModel(paused.model, model) ? paused : undefined
  const ended = paused === resumed ? closed : isPaused(closed) ? tellToGoOn(closed) : endPause(closed)
  const { settled, tail, waiting } = flushTail(ended)
  const from = resumed === undefined ? seq : resumed.from ?? resumed.seq
  const said = resumed === undefined ? message.content : [...resumed.said, ...message.content]
  const takenBefore = resumed === undefined ? closed.taken : resumed.takenBefore
  const { calls, content, renamed, taken } = Calls.prepare(from, said, takenBefore)
  const results = SharedMap.empty<number, never>()
  // what was before that is in it
  const before = resumed === undefined ? undefined : { ...resumed, resumed: undefined }
  const open = { seq, from, runId, turn, model, content, calls, renamed, results, said, takenBefore, resumed: before }
  return { settled, tail, open, paused: undefined, calling: false, waiting, taken }
}

/** Ends the turn under way: its message and results get their place, then the input that came meanwhile. */
export const closeTurn = (self: Transcript): Transcript => {
  const { calling, open, paused, taken, waiting } = self
  if (open === undefined && paused === undefined && !calling && waiting.length === 0) return self
  const { settled, tail } = open === undefined ? endPause(self) : flushTail(self)
  return {
    settled: open === undefined ? settled : Vector.appendAll(settled, fromTurn(open)),
    tail: gatherAll(tail, waiting),
    open: undefined,
    paused: undefined,
    calling: false,
    waiting: Vector.empty,
    taken
  }
}

/** Ends the turn under way, whose message its provider has not finished: it stays as it is until what comes next shows what follows it. */
export const pauseTurn = (self: Transcript): Transcript => {
  const { open, waiting } = self
  if (open === undefined || open.calls.length > 0 || waiting.length > 0) return closeTurn(self)
  const { content: whole } = Calls.prepare(open.from ?? open.seq, open.said, open.takenBefore, { isPaused: true })
  return { ...self, open: undefined, paused: { ...open, whole } }
}

/**
 * Keeps the texts of an answer that the end `event` cut off, as a turn that is open until something follows. What came meanwhile stays
 * behind it.
 */
export const openCut = (
  self: Transcript,
  { runId, seq }: { readonly runId: string; readonly seq: number },
  texts: ReadonlyArray<string>
): Transcript => {
  const content = Legality.cleanParts(texts.map(Message.text))
  if (content.length === 0) return closeTurn(self)
  const { settled, taken, waiting } = flushTail(self.open === undefined ? endPause(self) : closeTurn(self))
  const results = SharedMap.empty<number, never>()
  const made = { content, said: content, calls: [], renamed: [], results, takenBefore: taken, resumed: undefined }
  const open = { ...made, seq, runId, turn: 0, model: undefined, isCut: true }
  return { settled, tail: undefined, open, paused: undefined, calling: false, waiting, taken }
}

/** The run goes on: its model answers anew, and what was cut off was not said. */
export const takeBack = (self: Transcript): Transcript => {
  const { open, waiting } = self
  return open?.isCut === true
    ? { ...self, open: undefined, tail: gatherAll(undefined, waiting), waiting: Vector.empty }
    : self
}

const nothing: ReadonlyArray<Entries.Entry> = []

/**
 * What closing the turn now would add after the settled entries; leaves `self` and its siblings untouched. `reader` sees the whole of a
 * message that it may go on with.
 */
export const closing = (
  { open, paused, tail, waiting }: Transcript,
  reader?: Message.ModelRef
): ReadonlyArray<Entries.Entry> => {
  const last = open ?? paused
  if (last === undefined && tail === undefined && waiting.length === 0) return nothing
  const goesOn = last !== undefined && last === paused && waiting.length === 0 &&
    Message.isSameModel(last.model, reader)
  // whatever was gathered got its place when the turn opened
  const turn = last === undefined ? [] : fromTurn(goesOn ? { ...paused, content: paused.whole } : last)
  const before = open === undefined ? tail : undefined
  const gathered = gatherAll(before, waiting)
  return gathered === undefined ? turn : [...turn, userEntry(gathered)]
}
