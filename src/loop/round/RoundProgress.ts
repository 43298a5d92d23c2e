/**
 * How far a tool round is: what runs, who is asked, and whether another call may start. Makes the moves between running and
 * waiting for a person.
 *
 * A round that an earlier drive began goes on where that drive left it. Does not own which call is next (`CallLanes`,
 * `Slots`), nor its steps (`CallStep`).
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"
import type * as RunError from "../../run/RunError.ts"
import type * as RunEvent from "../../run/RunEvent.ts"
import * as OpenCall from "../../run/state/OpenCall.ts"
import * as RunRound from "../../run/state/RunRound.ts"
import * as ToolOutcome from "../../run/ToolOutcome.ts"
import type * as Env from "../env/Env.ts"

export class RoundProgress {
  /** set where a call failed and the policy says not to continue */
  toolError: RunError.Stored | undefined
  /** the limit that was reached, where one was */
  spent: RunEvent.LimitedReason | undefined
  /** the questions that wait for a person, by id; most rounds have none */
  #waiting: Set<string> | undefined
  /** the handler of a call waits for other runs */
  #isPaused = false
  /** a call has ended after which no other may run; `#halted` is for those who wait for that */
  #isHalted = false
  #halted: Deferred.Deferred<void> | undefined
  #line: Semaphore.Semaphore | undefined
  readonly #env: Pick<Env.Env, "budget" | "journal" | "policy">

  constructor(env: Pick<Env.Env, "budget" | "journal" | "policy">) {
    this.#env = env
    const { answer } = env.journal.state
    const failed = answer === undefined ? undefined : RunRound.firstFailed(answer)
    if (failed !== undefined) this.#failed(failed)
  }

  /** why calls that may not start any more do not run */
  get reason(): "failed" | "limit" {
    return this.toolError === undefined ? "limit" : "failed"
  }

  /** Completes when a call has ended after which no other may run. */
  get halted(): Effect.Effect<void> {
    return Effect.suspend(() => this.#isHalted ? Effect.void : Deferred.await(this.#halted ??= Deferred.makeUnsafe()))
  }

  /** for one question after the other */
  get line(): Semaphore.Semaphore {
    return this.#line ??= Semaphore.makeUnsafe(1)
  }

  mayRun(): boolean {
    const { budget, journal } = this.#env
    this.spent ??= budget.spentInRound(journal.now)
    return this.toolError === undefined && this.spent === undefined
  }

  began(): void {
    this.#goOn()
  }

  ended(call: OpenCall.OpenCall, outcome: ToolOutcome.ToolOutcome): void {
    if (ToolOutcome.isError(outcome)) this.#failed(call)
    if (!this.mayRun()) this.#isHalted = true
    if (this.#isHalted && this.#halted !== undefined) Deferred.doneUnsafe(this.#halted, Effect.void)
    this.rest()
  }

  paused(): void {
    this.#isPaused = true
    this.rest()
  }

  /** `false` where the round has asked this question before, and nobody answered. */
  asked(approvalId: string): boolean {
    this.#waiting ??= new Set()
    const isNew = !this.#waiting.has(approvalId)
    this.#waiting.add(approvalId)
    return isNew
  }

  decided(approvalId: string): void {
    this.#waiting?.delete(approvalId)
    this.#goOn()
  }

  /**
   * The round waits for people while one is asked, here or below a call, and every call that was started, also by a dead drive, has
   * its outcome or waits too.
   */
  rest(): void {
    const { journal } = this.#env
    const isAsked = this.#isPaused || (this.#waiting !== undefined && this.#waiting.size > 0)
    if (isAsked && journal.status === "tool_running" && OpenCall.waits(journal.state.openCalls)) {
      journal.move("everyCallWaits")
    }
  }

  #failed(call: Failed): void {
    if (this.#env.policy.continueOnError === false) this.toolError ??= toolFailed(call)
  }

  #goOn(): void {
    const { journal } = this.#env
    if (journal.status === "awaiting_human") journal.move("answered")
  }
}

type Failed = Pick<OpenCall.OpenCall, "callId" | "tool">

const toolFailed = (call: Failed): RunError.Stored => ({
  _tag: "NonRetryableError",
  reason: {
    _tag: "ToolFailed",
    tool: call.tool,
    callId: call.callId,
    message: `the tool "${call.tool}" failed, and toolPolicy.continueOnError of this run is false`
  }
})
