/**
 * How far a tool round is: what runs, who is asked, and whether another call may start. Makes the moves between running and
 * waiting for a person.
 *
 * Does not own which call is next (`ToolRound`), nor its steps (`CallStep`).
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as OpenCall from "../run/OpenCall.ts"
import * as RunDecision from "../run/RunDecision.ts"
import type * as RunError from "../run/RunError.ts"
import type * as RunEvent from "../run/RunEvent.ts"
import * as ToolOutcome from "../run/ToolOutcome.ts"
import type * as Env from "./Env.ts"

export class RoundProgress {
  /** set where a call failed and the policy says not to continue */
  toolError: RunError.Stored | undefined
  /** the limit that was reached, where one was */
  spent: RunEvent.LimitedReason | undefined
  running = 0
  /** the calls that wait for a person, by id */
  readonly #waiting = new Set<string>()
  readonly #env: Pick<Env.Env, "journal" | "policy">
  readonly #over = Deferred.makeUnsafe<void>()

  constructor(env: Pick<Env.Env, "journal" | "policy">) {
    this.#env = env
  }

  /** Comes when a call has ended behind which no other may start. */
  get over(): Effect.Effect<void> {
    return Deferred.await(this.#over)
  }

  mayRun(): boolean {
    const { journal } = this.#env
    this.spent ??= RunDecision.budgetSpent(journal.state(), journal.now())
    return this.toolError === undefined && this.spent === undefined
  }

  began(): void {
    this.running++
    this.#goOn()
  }

  ended(call: OpenCall.OpenCall, outcome: ToolOutcome.ToolOutcome): void {
    this.running--
    if (this.#env.policy.continueOnError === false && ToolOutcome.isError(outcome)) this.toolError ??= toolFailed(call)
    if (!this.mayRun()) Deferred.doneUnsafe(this.#over, Effect.void)
    this.look()
  }

  /** `false` where the round has asked about this call before, and nobody answered. */
  asked({ callId }: OpenCall.OpenCall): boolean {
    const isNew = !this.#waiting.has(callId)
    this.#waiting.add(callId)
    return isNew
  }

  answered({ callId }: OpenCall.OpenCall): void {
    this.#waiting.delete(callId)
    this.#goOn()
  }

  /** The round waits for a person while one is asked and nothing runs. */
  look(): void {
    const { journal } = this.#env
    if (this.running === 0 && this.#waiting.size > 0 && journal.status() === "tool_running") {
      journal.move("everyCallWaits")
    }
  }

  #goOn(): void {
    const { journal } = this.#env
    if (journal.status() === "awaiting_human") journal.move("answered")
  }
}

const toolFailed = (call: OpenCall.OpenCall): RunError.Stored => ({
  _tag: "NonRetryableError",
  reason: {
    _tag: "ToolFailed",
    tool: call.tool,
    callId: call.callId,
    message: `tool "${call.tool}" failed, and this run does not continue on errors`
  }
})
