/** A session that is suspended with its questions open, and what a test does with it. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type * as RunError from "../../src/run/RunError.ts"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import type * as RunInput from "../../src/run/RunInput.ts"
import type * as Approver from "../../src/services/Approver.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Approvals from "./Approvals.ts"
import * as TestAgent from "./TestAgent.ts"

export const go = { sessionId: "s", runId: "r", input: "go" }

export interface Suspended extends Approvals.Asking {
  readonly log: Effect.Effect<ReadonlyArray<RunEvent.Durable>>
  /** answers the question about this call; yes unless stated otherwise */
  readonly decide: (
    callId: string,
    decision?: Partial<RunInput.DecideInput>
  ) => Effect.Effect<void, RunError.RunError>
  readonly resume: (approver?: Approver.Approver) => Effect.Effect<Array<RunEvent.RunEvent>, RunError.RunError>
  /** the ids of the calls whose questions wait */
  readonly waiting: Effect.Effect<ReadonlyArray<string>, RunError.RunError>
  /** what the model read of its calls in its last request */
  readonly read: Effect.Effect<ReadonlyArray<unknown>>
}

const extend = (made: Approvals.Asking): Suspended => ({
  ...made,
  log: made.store.log("s"),
  decide: (callId, decision = {}) =>
    made.agent.decide({ sessionId: "s", approvalId: `r/${callId}`, approved: true, ...decision }),
  resume: (approver) => {
    const events = made.agent.resume({ sessionId: "s" })
    return Stream.runCollect(approver === undefined ? events : Approvals.by(approver, events))
  },
  waiting: Effect.map(made.agent.approvals("s"), (approvals) => approvals.map(({ callId }) => callId)),
  read: Effect.map(made.script.requests, (requests) => {
    const last = requests.at(-1)?.messages.at(-1)
    return last?.role === "tool" ? last.content.map((part) => part.result) : []
  })
})

type Options = NonNullable<Parameters<typeof Approvals.make>[1]>

/** An agent whose first run, `r` in `s`, has not begun. */
export const before = Effect.fnUntraced(function*(
  script: ReadonlyArray<ScriptedModel.Turn>,
  options: Options = {}
): Effect.fn.Return<Suspended, never, Scope.Scope> {
  return extend(yield* Approvals.make(script, options))
})

/** One whose first run waits; by default for one call of `work`. */
export const make = Effect.fnUntraced(function*(
  calls: ScriptedModel.Turn = TestAgent.work(1),
  options: Options = {},
  input: Partial<Parameters<TestAgent.TestAgent["agent"]["run"]>[0]> = {}
): Effect.fn.Return<Suspended, RunError.RunError, Scope.Scope> {
  const made = yield* before([calls, ScriptedModel.text("ok"), ScriptedModel.text("fine")], options)
  yield* made.agent.run({ ...go, ...input })
  return made
})

/** Another process with the same sessions, whose model continues where the first one's stopped. */
export const elsewhere = (
  { store }: Pick<Suspended, "store">,
  options: Options = {}
): Effect.Effect<Suspended, never, Scope.Scope> =>
  before([ScriptedModel.text("ok"), ScriptedModel.text("fine")], { ...options, store })
