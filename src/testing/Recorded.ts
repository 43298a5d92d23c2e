/**
 * A recorded session as a test: its inputs, a model that gives its answers again, and a hook that gives its calls their outcomes.
 * A recording is the log of a session, or a part of one, as `SessionLines.decode` and `SessionStore.read` give it.
 *
 * Does not own how answers and outcomes are found (`recorded`).
 */
import type * as Layer from "effect/Layer"
import type * as RunEvent from "../run/RunEvent.ts"
import type * as RunInput from "../run/RunInput.ts"
import type * as Model from "../services/Model.ts"
import * as RecordedOutcomes from "./recorded/Outcomes.ts"
import type { Options as OutcomesOptions, Outcomes } from "./recorded/Outcomes.ts"
import * as RecordedModel from "./recorded/RecordedModel.ts"
import type { Options as ModelOptions } from "./recorded/RecordedModel.ts"
import type * as ScriptedModel from "./ScriptedModel.ts"

export type { Call, Options as OutcomesOptions, Outcomes } from "./recorded/Outcomes.ts"
export type { Options as ModelOptions } from "./recorded/RecordedModel.ts"

type Events = ReadonlyArray<RunEvent.Durable>

/** The input of a recorded run, and its id, by which `model` knows it. */
export type Input = RunInput.RunInput & { readonly runId: string }

/**
 * What the runs of a recording were started with, in order; for `agent.run` they need a `sessionId`. Without limits and tool policies:
 * the log has those that held, the agent's included. Without what was sent to a run at work.
 */
export const inputs = (events: Events): ReadonlyArray<Input> =>
  events.flatMap((event) => {
    if (event._tag !== "RunStarted") return []
    const { history, limits: _, messages, toolPolicy: __, ...rest } = event.input
    const before = history === undefined ? {} : { history: history as ReadonlyArray<RunInput.HistoryInput> }
    return [{ ...rest, ...before, input: messages, runId: event.runId }]
  })

/**
 * A model that answers each turn of a recorded run as its model did: with the same parts, finish reason and usage, at once and as one
 * array. A request fails the test if the log has no answer for it, or if it is not the recorded one (`requests`). Failed attempts that
 * were made up for are left out; a call that failed for good fails again. One model answers for all that the recording has.
 */
export const model = (
  events: Events,
  options?: ModelOptions
): Layer.Layer<Model.Model | ScriptedModel.Script> => RecordedModel.layer(events, options)

/**
 * A hook that gives a call the outcome that the recording has for the same tool and arguments, one after the other: no tool runs, and
 * nobody is asked. It comes after the agent's own hooks, and has no outcome that a hook gave, or that says that a run was over
 * (`NotExecuted`, `Interrupted`).
 */
export const outcomes = (events: Events, options?: OutcomesOptions): Outcomes => RecordedOutcomes.make(events, options)
