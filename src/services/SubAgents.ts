/**
 * The run of an agent that works for a tool call, and what comes of it: an answer, questions for people, or why there is
 * neither.
 *
 * Does not own which call it works for (`ToolCall`), nor how a run finds the one around it; the loop does.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schedule from "effect/Schedule"
import type * as RunError from "../run/RunError.ts"
import * as RunEvent from "../run/RunEvent.ts"
import type * as RunInput from "../run/RunInput.ts"
import type * as RunResult from "../run/RunResult.ts"
import { Grace } from "./Grace.ts"
import { type Observer, Observers } from "./Observers.ts"

/** An agent, as `Agent.Client` has it. */
export interface SubAgent {
  readonly run: (input: RunInput.RunInput) => Effect.Effect<RunResult.RunResult<unknown>, RunError.RunError>
}

/** The agent's answer: its output if it has a schema for that, else its text. */
export type Answer<S extends SubAgent> = Extract<
  Effect.Success<ReturnType<S["run"]>>,
  { readonly _tag: "Completed" }
>["output"]

type Ended = Result.Result<RunResult.RunResult<unknown>, RunError.RunError>

/**
 * Runs the agent to its end, or continues the run that has the id `ownId`, unless the input names another. A run that another
 * process has is waited for, up to 40 seconds.
 */
export const run = (
  agent: SubAgent,
  input: RunInput.RunInput,
  ownId: string,
  progress?: (said: string) => Effect.Effect<void>
): Effect.Effect<Ended> => {
  const runId = input.runId ?? ownId
  const ended = Effect.result(Effect.retry(agent.run({ ...input, runId }), {
    while: (error) => isElsewhere(error, runId),
    schedule: untilGivenUp
  }))
  return progress === undefined
    ? ended
    : Effect.updateService(ended, Observers, (around) => [...around, speech(runId, progress)])
}

/** Another process has this very run: the run is live there, or that process died and has not released it. */
const isElsewhere = ({ reason }: RunError.RunError, runId: string): boolean =>
  reason._tag === "SessionBusy" && reason.runId === runId

/** By then a lease has run out: that of a run below a call runs out after that of the run around it, which began before. */
const untilGivenUp = Schedule.max([Schedule.spaced("1 second"), Schedule.recurs(40)])

/**
 * Reports what a run has said in its turn so far, as often as that has grown by an eighth, so that reports of a long text are few, and
 * when the answer has ended; nothing of a failed attempt, nor of runs below it.
 */
const speech = (own: string, progress: (said: string) => Effect.Effect<void>): Observer => {
  let [said, reported] = ["", ""]
  /** the length from which it is reported */
  let due = 0
  const hear = (event: RunEvent.RunEvent) => {
    if (event._tag === "TextDelta") said += event.delta
    if (event._tag === "TurnStarted" || event._tag === "AttemptDiscarded") said = ""
    if (said === "" || event._tag === "AssistantMessage" || RunEvent.isEnd(event)) due = 0
  }
  return {
    name: "progress",
    observe: ({ events, runId }) => {
      if (runId === own) events.forEach(hear)
      if (said.length < due || said === reported) return Effect.void
      reported = said
      due = said.length * 9 / 8
      return progress(said)
    }
  }
}

/**
 * Does nothing unless one of the runs was shut down, or refused for that. Then the run around the call ends next, as a rule, and the call
 * is left to the next process: waits for that to interrupt it, for at most five grace periods, and at least a second.
 */
export const untilShutDown = (ended: ReadonlyArray<Ended>): Effect.Effect<void> =>
  ended.some(isShutDown)
    ? Effect.flatMap(Grace, (period) => Effect.sleep(Duration.max(Duration.times(period, 5), Duration.seconds(1))))
    : Effect.void

const isShutDown = (ended: Ended): boolean =>
  Result.isFailure(ended)
    ? ended.failure.reason._tag === "ShuttingDown"
    : ended.success._tag === "Aborted" && ended.success.reason === "shutdown"

/** The run, if it waits for people. */
export const waiting = (ended: Ended) =>
  Result.isSuccess(ended) && ended.success._tag === "Suspended" ? ended.success : undefined

/** The answer of a run that does not wait; fails with what the model reads if there is none. */
export const answerOf = <S extends SubAgent>(ended: Ended): Effect.Effect<Answer<S>, string> => {
  if (Result.isFailure(ended)) return Effect.fail(ended.failure.message)
  const { success: result } = ended
  if (result._tag === "Completed") return Effect.succeed(result.output as Answer<S>)
  return Effect.fail(result.text === "" ? result.explain : `${result.explain} It said last:\n${result.text}`)
}
