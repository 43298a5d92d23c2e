/** Views of a stream of run events, for consumers. */
import type * as Cause from "effect/Cause"
import type * as Duration from "effect/Duration"
import type * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type * as DurableEvent from "./DurableEvent.ts"
import * as Message from "./Message.ts"
import * as Envelope from "./partial/Envelope.ts"
import type { PartialOutput } from "./partial/PartialOutput.ts"
import { PartialReading } from "./partial/PartialReading.ts"
import * as RunEvent from "./RunEvent.ts"

export type { PartialOutput } from "./partial/PartialOutput.ts"

/**
 * Joins neighbouring deltas of one block, and leaves out `RetryScheduled`, `StatusChanged` and `ToolProgress`. No text
 * is lost.
 */
export const joined = (events: ReadonlyArray<RunEvent.RunEvent>): Array<RunEvent.RunEvent> =>
  joinRuns(events.filter((event) => RunEvent.isDurable(event) || RunEvent.isDelta(event)))

/** Each series of deltas of one block as one event; everything else unchanged. */
const joinRuns = (events: ReadonlyArray<RunEvent.RunEvent>): Array<RunEvent.RunEvent> => {
  const out: Array<RunEvent.RunEvent> = []
  for (let at = 0, next = 1; at < events.length; at = next++) {
    const first = events[at]!
    if (!RunEvent.isDelta(first)) {
      out.push(first)
      continue
    }
    let { count = 1 } = first
    // joined at once: a string that is added to piece by piece keeps every piece
    const more: Array<string> = []
    for (let event = events[next]; event !== undefined && isNext(first, count, event); event = events[++next]) {
      more.push(event.delta)
      count += event.count ?? 1
    }
    out.push(next === at + 1 ? first : { ...first, count, delta: first.delta + more.join("") })
  }
  return out
}

/** Whether this event continues where `count` deltas, starting with `first`, end. */
const isNext = (first: RunEvent.Delta, count: number, event: RunEvent.RunEvent): event is RunEvent.Delta =>
  event._tag === first._tag && event.index === first.index + count && event.block === first.block &&
  event.runId === first.runId && event.turn === first.turn && event.attempt === first.attempt

/**
 * Joins the deltas of each block that arrive within `window`, for slow consumers; all other events pass in order, and
 * an error comes after whatever was held back.
 */
export const coalesce =
  (window: Duration.Input) =>
  <E, R>(self: Stream.Stream<RunEvent.RunEvent, E, R>): Stream.Stream<RunEvent.RunEvent, E, R> => {
    type Item = RunEvent.RunEvent | { readonly _tag: "Broken"; readonly cause: Cause.Cause<E> }
    return self.pipe(
      Stream.map((event): Item => event),
      Stream.catchCause((cause) => Stream.succeed<Item>({ _tag: "Broken", cause })),
      Stream.groupedWithin(1024, window),
      Stream.flatMap((items) => {
        const events: Array<RunEvent.RunEvent> = []
        for (const item of items) {
          if (item._tag === "Broken") {
            return Stream.concat(Stream.fromIterable(joinRuns(events)), Stream.failCause(item.cause))
          }
          events.push(item)
        }
        return Stream.fromIterable(joinRuns(events))
      })
    )
  }

/**
 * The model's text as it comes. What a reader missed is filled in from the settled message, so that the pieces of a
 * turn, joined, are its whole text. Text of an attempt that does not count has already been seen and stays; the attempt
 * that counts begins on a new line.
 */
export const text = <E, R>(self: Stream.Stream<RunEvent.RunEvent, E, R>): Stream.Stream<string, E, R> =>
  self.pipe(Stream.mapAccum(() => unread, readText))

/** What a reader has seen of the text of the attempt under way. */
export interface Reading {
  readonly attempt: string
  readonly seen: string
  /** the index of the next delta */
  readonly next: number
}

/** Where `readText` begins. */
export const unread: Reading = { attempt: "", seen: "", next: 0 }

/** One step of `text`: what an event adds to what was read. Pure. */
export const readText = (
  reading: Reading,
  event: RunEvent.RunEvent
): readonly [reading: Reading, pieces: ReadonlyArray<string>] => {
  if (RunEvent.isDelta(event)) return readDelta(reading, event)
  return event._tag === "AssistantMessage" ? [unread, missing(reading, event)] : [reading, []]
}

const readDelta = (reading: Reading, event: RunEvent.Delta): readonly [Reading, ReadonlyArray<string>] => {
  const attempt = attemptOf(event)
  const isNew = attempt !== reading.attempt
  const { next, seen } = isNew ? unread : reading
  const before = isNew && reading.seen !== "" ? ["\n"] : []
  // after a gap, the settled message gives the rest
  if (event.index !== next) return [{ attempt, seen, next }, before]
  const after = next + (event.count ?? 1)
  return event._tag === "TextDelta"
    ? [{ attempt, seen: seen + event.delta, next: after }, [...before, event.delta]]
    : [{ attempt, seen, next: after }, before]
}

const attemptOf = ({ attempt, runId, turn }: RunEvent.Delta | DurableEvent.Of<"AssistantMessage">): string =>
  `${runId} ${turn} ${attempt}`

/** What was not read of a settled message. */
const missing = ({ attempt, seen }: Reading, event: DurableEvent.Of<"AssistantMessage">): ReadonlyArray<string> => {
  const whole = Message.textOf(event.message.content)
  if (attempt === attemptOf(event)) {
    // blocks that came interleaved are one after the other in the message: all of it was seen
    if (whole.length === seen.length) return []
    if (whole.startsWith(seen)) return [whole.slice(seen.length)]
  }
  if (whole === "") return []
  return seen === "" ? [whole] : ["\n", whole]
}

/**
 * The typed answer as it grows, for an agent with this `output` schema: the JSON that the model has written so far. Each
 * value extends the one before: strings as far as they came, lists and objects with what is already in them; keys, numbers
 * and literals once they are whole. Parts that did not change are the same objects. Answers with very many members are
 * shown in bigger steps. The last value of an answer is the whole answer.
 *
 * The schema only types the values, as they are before it decodes them, and checks nothing: the checked value is `output`
 * of the result. A new attempt, a new turn and a correction start over. Once a text is no longer JSON, no more of it is
 * shown. The object that holds an answer of another kind (`Envelope`) is not part of it; an object that turns out to be the
 * answer itself, by its second member, starts over.
 */
export const partialOutput = <S extends Schema.Constraint>(output: S) => {
  const envelope = Envelope.of(output)
  return <E, R>(
    self: Stream.Stream<RunEvent.RunEvent, E, R>
  ): Stream.Stream<PartialOutput<S["Encoded"]>, E, R> =>
    self.pipe(
      Stream.mapAccum(() => new PartialReading(envelope), (reading, event) => [reading, reading.read(event)])
    ) as Stream.Stream<PartialOutput<S["Encoded"]>, E, R>
}
