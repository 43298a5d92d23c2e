/**
 * Input to a run that has not reached its model yet. Part of the fold of `RunState`: total and pure.
 *
 * Does not own when the model is given it; that is `RunDecision` and the loop.
 */
import type * as DurableEvent from "../DurableEvent.ts"
import * as RunEvent from "../RunEvent.ts"

/** An accepted input, with the `seq` of its acceptance. */
export interface Queued extends Pick<DurableEvent.Of<"InputQueued">, "seq" | "kind" | "messages"> {
  /** goes to the model with the next turn: every steer, and the follow-up that the run continues for */
  readonly isDue: boolean
}

/** In the order of acceptance. */
export type Queue = ReadonlyArray<Queued>

/** What still waits after any event of a session. */
export const evolve = (queue: Queue, event: RunEvent.Durable): Queue => {
  switch (event._tag) {
    case "RunStarted":
      return []
    case "InputQueued":
      return add(queue, event)
    case "InputReceived":
      return receive(queue, event)
    case "TurnFinished":
      return finishTurn(queue, event)
    default:
      return RunEvent.isEnd(event) ? end(queue, event) : queue
  }
}

const add = (queue: Queue, { kind, messages, seq }: DurableEvent.Of<"InputQueued">): Queue => [
  ...queue,
  { seq, kind, messages, isDue: kind === "steer" }
]

const receive = (queue: Queue, { queued }: DurableEvent.Of<"InputReceived">): Queue =>
  queued === undefined ? queue : queue.filter(({ seq }) => seq !== queued)

/** If the run continues for a follow-up, the oldest one is due. */
const finishTurn = (queue: Queue, { decision }: DurableEvent.Of<"TurnFinished">): Queue => {
  if (queue.length === 0 || decision._tag !== "Continue" || decision.reason !== "followUp") return queue
  const oldest = queue.find(({ isDue }) => !isDue)
  return oldest === undefined ? queue : queue.map((queued) => queued === oldest ? { ...queued, isDue: true } : queued)
}

/**
 * When a drive wrote its end itself, whoever waits was told so: what that end keeps waits on, and nothing else is
 * delivered later. A drive that died has told nobody.
 */
const end = (queue: Queue, event: RunEvent.End): Queue => {
  if (queue.length === 0 || RunEvent.isOfDead(event)) return queue
  const kept = RunEvent.keptBy(event)
  return queue.filter(({ seq }) => kept.includes(seq))
}

/** What the run continues for although its model has nothing more to do. */
export const next = (queue: Queue): Queued["kind"] | undefined =>
  queue.some(({ kind }) => kind === "steer") ? "steer" : queue[0]?.kind

/** What the next turn begins with; also the oldest follow-up if the model would otherwise have `nothing` to answer. */
export const due = (queue: Queue, nothing: () => boolean): Queue => {
  if (queue.length === 0) return queue
  const now = queue.filter(({ isDue }) => isDue)
  return now.length > 0 || !nothing() ? now : queue.slice(0, 1)
}
