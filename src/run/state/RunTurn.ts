/**
 * What the model calls of a turn do to the state of a run, from the turn's start to its end: parts of
 * `RunState.evolve`, total like it, which write only to the state that it is making.
 *
 * Does not own what the turn's tool calls do; that is `RunRound`.
 */
import type * as DurableEvent from "../DurableEvent.ts"
import * as Lost from "../Lost.ts"
import * as Message from "../Message.ts"
import type * as RunState from "../RunState.ts"
import * as Usage from "../Usage.ts"
import * as Measure from "./Measure.ts"
import * as OpenCall from "./OpenCall.ts"
import type * as RunRound from "./RunRound.ts"

/** What a turn still needs to know of its settled answer. */
export interface Answer
  extends Pick<DurableEvent.Of<"AssistantMessage">, "attempt" | "finishReason" | "usage" | "message">
{
  readonly calls: number
  /** nothing that a reader or a tool could use */
  readonly isBlank: boolean
  /** in the order in which they were settled */
  readonly settled: ReadonlyArray<RunRound.SettledCall>
}

export const start = (next: RunState.Next, event: DurableEvent.Of<"TurnStarted">): void => {
  next.status = "preparing"
  // a turn that is started again goes on counting its attempts
  next.attempts = event.turn === next.turn ? next.attempts : 0
  next.turn = event.turn
  next.offered = event.tools
  next.answer = undefined
  next.measured = Measure.send(next.measured, event)
}

/** An attempt that does not count; its cost and its time do. */
export const discardAttempt = (next: RunState.Next, event: DurableEvent.Of<"AttemptDiscarded">): void => {
  const { attempt, delay, duration = 0, usage } = event
  const { totals } = next
  next.attempts = attempt
  const lost = Lost.attempt(duration, delay)
  next.retries += lost.retries
  next.lostTime += lost.lostTime
  next.measured = Measure.discard(next.measured, event)
  next.totals = { ...totals, usage: Usage.add(totals.usage, usage), errors: totals.errors + 1 }
}

/** Another model takes over, for the rest of the run. */
export const switchModel = (next: RunState.Next, { to }: DurableEvent.Of<"ModelSwitched">): void => {
  next.switchedTo = to
  next.switches++
}

/** The attempt that counts. Its calls are open from here on. */
export const settleMessage = (next: RunState.Next, event: DurableEvent.Of<"AssistantMessage">): void => {
  const { attempt, finishReason, message, turn, usage } = event
  const { totals } = next
  const calls = OpenCall.ofMessage(message.content, turn)
  next.status = calls.length > 0 ? "tool_running" : "preparing"
  next.turn = turn
  next.attempts = attempt
  // a cut answer does not count as an answer yet
  if (finishReason !== "length") next.compactionsInARow = 0
  next.hasRun = false
  next.text = Message.textOf(message.content)
  next.answer = {
    attempt,
    finishReason,
    usage,
    message,
    calls: calls.length,
    isBlank: Message.isBlank(message.content),
    settled: []
  }
  next.openCalls = calls
  next.measured = Measure.answer(next.measured, event)
  next.totals = { ...totals, turns: totals.turns + 1, usage: Usage.add(totals.usage, usage) }
}

/** Whether the outcomes of the turn under way are all known. */
export const isAllKnown = ({ answer }: Pick<RunState.RunState, "answer">): boolean =>
  answer === undefined || answer.settled.every(({ outcome }) => outcome._tag !== "OutcomeUnknown")

/** A turn whose outcomes are all known ends a series of crashes. */
export const finish = (next: RunState.Next): void => {
  if (isAllKnown(next)) next.crashes = 0
  next.status = "preparing"
  next.answer = undefined
}
