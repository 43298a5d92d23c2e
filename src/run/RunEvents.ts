/** Views of a stream of run events, for consumers. */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Message from "./Message.ts"
import * as RunEvent from "./RunEvent.ts"

/**
 * Neighbouring deltas of one block joined; `RetryScheduled`, `StatusChanged` and `ToolProgress` left out. Nothing of
 * the text is lost.
 */
export const joined = (events: ReadonlyArray<RunEvent.RunEvent>): Array<RunEvent.RunEvent> => {
  const out: Array<RunEvent.RunEvent> = []
  for (const event of events) {
    if (RunEvent.isDurable(event)) out.push(event)
    else if (RunEvent.isDelta(event)) addDelta(out, event)
  }
  return out
}

const addDelta = (out: Array<RunEvent.RunEvent>, event: RunEvent.Delta): void => {
  const last = out[out.length - 1]
  if (
    last !== undefined && last._tag === event._tag && RunEvent.isDelta(last) && last.block === event.block &&
    last.runId === event.runId && last.turn === event.turn && last.attempt === event.attempt &&
    last.index + (last.count ?? 1) === event.index
  ) {
    out[out.length - 1] = { ...last, count: (last.count ?? 1) + (event.count ?? 1), delta: last.delta + event.delta }
  } else out.push(event)
}

/** Joins the deltas of each block that arrive within `window`, for slow consumers; all other events pass in order. */
export const coalesce = (window: Duration.Input) =>
<E, R>(
  self: Stream.Stream<RunEvent.RunEvent, E, R>
): Stream.Stream<RunEvent.RunEvent, E, R> =>
  self.pipe(
    Stream.groupedWithin(1024, window),
    Stream.mapArray((groups) => {
      const out: Array<RunEvent.RunEvent> = []
      for (const group of groups) {
        for (const event of group) {
          if (RunEvent.isDelta(event)) addDelta(out, event)
          else out.push(event)
        }
      }
      return out as unknown as readonly [RunEvent.RunEvent, ...Array<RunEvent.RunEvent>]
    })
  )

/**
 * The model's text as it comes. What a reader missed is made up from the settled message, so that the pieces of a turn,
 * joined, are its whole text. Text of a discarded attempt has been seen and stays; the next one starts on a new line.
 */
export const text = <E, R>(self: Stream.Stream<RunEvent.RunEvent, E, R>): Stream.Stream<string, E, R> =>
  Stream.unwrap(Effect.sync(() => {
    let seen = ""
    let next = 0
    return Stream.flattenIterable(Stream.map(self, (event) => {
      switch (event._tag) {
        case "TextDelta":
        case "ReasoningDelta":
        case "ToolParamsDelta": {
          if (event.index !== next) return []
          next += event.count ?? 1
          if (event._tag !== "TextDelta") return []
          seen += event.delta
          return [event.delta]
        }
        case "AssistantMessage": {
          const whole = Message.textOf(event.message.content)
          const rest = whole.startsWith(seen) ? whole.slice(seen.length) : whole
          seen = ""
          next = 0
          return rest === "" ? [] : [rest]
        }
        case "AttemptDiscarded": {
          const shown = seen
          seen = ""
          next = 0
          return shown === "" ? [] : ["\n"]
        }
        default:
          return []
      }
    }))
  }))
