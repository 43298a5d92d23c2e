/** A run that is recorded, and replayed by what its log says: with `work`, `look` and `again`, the tools of `TestAgent`. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"
import type * as Agent from "../../src/Agent.ts"
import type * as RunError from "../../src/run/RunError.ts"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import type * as RunInput from "../../src/run/RunInput.ts"
import type * as RunResult from "../../src/run/RunResult.ts"
import * as ToolOutcome from "../../src/run/ToolOutcome.ts"
import { type Hook, Hooks } from "../../src/services/Hooks.ts"
import * as Recorded from "../../src/testing/Recorded.ts"
import type * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as RunLog from "./RunLog.ts"
import * as TestAgent from "./TestAgent.ts"
import * as TestStore from "./TestStore.ts"

export type Events = ReadonlyArray<RunEvent.Durable>

/** What is asked in the recording, in one session. */
export const record = Effect.fnUntraced(
  function*(
    turns: ScriptedModel.Turns,
    options: TestAgent.Options = {},
    play: (agent: Agent.Client<string>) => Effect.Effect<unknown, unknown> = (agent) =>
      Effect.ignore(agent.run({ sessionId: "recorded", runId: "r", input: "Go." }))
  ): Effect.fn.Return<Events, never, Scope.Scope> {
    const { agent, store } = yield* TestAgent.make(turns, options)
    yield* Effect.orDie(play(agent))
    return yield* store.log("recorded")
  },
  Effect.scoped
)

export interface Replay {
  readonly results: ReadonlyArray<Exit.Exit<RunResult.RunResult<string>, RunError.RunError>>
  /** of the session `again` */
  readonly log: Events
  /** why the test fails when the model's layer is closed; empty if it does not */
  readonly problem: string
}

export interface Options extends TestAgent.Options {
  readonly recorded?: Recorded.ModelOptions
  readonly hooks?: ReadonlyArray<Hook>
  readonly inputs?: ReadonlyArray<RunInput.RunInput>
  /** what the session begins with */
  readonly before?: Events
}

/** Runs the recording's inputs again. */
export const replay = Effect.fnUntraced(function*(events: Events, options: Options = {}): Effect.fn.Return<Replay> {
  const { before = [], hooks = [Recorded.outcomes(events)], inputs = Recorded.inputs(events), recorded } = options
  const store = yield* TestStore.make()
  const results: Array<Replay["results"][number]> = []
  if (before.length > 0) yield* add(store, before)
  const closed = yield* Effect.exit(Effect.scoped(Effect.gen(function*() {
    const { agent } = yield* TestAgent.make([], { ...options, store, model: Recorded.model(events, recorded) })
    for (const input of inputs) {
      results.push(yield* Effect.exit(Effect.provideService(agent.run({ ...input, sessionId: "again" }), Hooks, hooks)))
    }
  })))
  return { results, log: yield* store.log("again"), problem: failureOf(closed) }
})

const add = ({ service }: TestStore.TestStore, events: Events) =>
  service.open("again", { runId: "before", create: true }).pipe(
    Effect.flatMap((session) => session.append(events as unknown as TestStore.Batch)),
    Effect.scoped,
    Effect.orDie
  )

/** What models said and were told in a run, or in all, without what differs between any two: ids, times, and the order of outcomes. */
export const facts = (events: Events, runId?: string) => {
  const own = events.filter((event) => runId === undefined || event.runId === runId)
  return {
    answers: RunLog.only(own, "AssistantMessage").map(({ finishReason, message, sources, turn, usage }) => ({
      finishReason,
      message,
      sources,
      turn,
      usage
    })),
    calls: RunLog.only(own, "ToolSettled").map(({ callId, edited, outcome, runId, tool }) => ({
      call: `${runId} ${callId}`,
      tool,
      result: ToolOutcome.toResult(outcome, edited)
    })).sort((a, b) => (a.call < b.call ? -1 : 1)),
    notices: RunLog.only(own, "NoticeAdded").map(({ text }) => text),
    compactions: RunLog.only(own, "ContextCompacted").flatMap(({ cause, replacement }) =>
      cause === "manual" ? [] : [replacement]
    )
  }
}

/** What a run or a scope failed with, and what caused that; empty where it did not fail. */
export const failureOf = (exit: Exit.Exit<unknown, unknown>): string => {
  if (Exit.isSuccess(exit)) return ""
  const error = Cause.squash(exit.cause)
  return error instanceof Error && error.cause instanceof Error ? error.cause.message : (error as Error).message
}
