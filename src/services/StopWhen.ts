/**
 * When an agent stops although its model would go on: a condition asked after each turn, and one asked before tools
 * run.
 *
 * Either may return its answer or an effect of it. A condition that throws, fails or takes longer than a tool may ends
 * the run with `HookBlocked`: a stop is never skipped.
 */
import type * as Effect from "effect/Effect"
import type { Json } from "effect/Schema"
import type * as Message from "../run/Message.ts"
import type * as RunEvent from "../run/RunEvent.ts"
import type * as OpenCall from "../run/state/OpenCall.ts"
import type * as RunRound from "../run/state/RunRound.ts"

interface Settled {
  readonly sessionId: string
  readonly runId: string
  /** from 1 */
  readonly turn: number
  readonly message: Message.AssistantMessage
  readonly finishReason: RunEvent.FinishReason
  /** of the run so far */
  readonly totals: RunEvent.Totals
  /** the run's `data` */
  readonly data: Json | undefined
}

/** A turn that is over: the settled message, and its calls in order with what became of them. */
export interface Turn extends Settled {
  readonly calls: ReadonlyArray<RunRound.SettledCall>
}

/** Calls that would run now: all those of a settled message, in order. */
export interface Round extends Settled {
  readonly calls: ReadonlyArray<Pick<OpenCall.OpenCall, "callId" | "tool" | "params">>
}

/** `true` stops the run there: it completes, unless its answer must fit an output schema and does not. */
export type Condition<A> = (of: A) => boolean | Effect.Effect<boolean, unknown>

/** True when the message calls one of these tools, whatever became of the call; for `stopWhen` and `stopBefore`. */
export const toolCalled = (...tools: ReadonlyArray<string>): Naming => {
  const isCalled = ({ calls }: Pick<Round, "calls">): boolean => calls.some(({ tool }) => tools.includes(tool))
  return Object.assign(isCalled, { tools })
}

/** A condition that names tools: an agent that lacks one of them cannot be made. */
export interface Naming {
  (of: Pick<Round, "calls">): boolean
  readonly tools: ReadonlyArray<string>
}

/** The tools that a condition names, if it says so. */
export const toolsOf = (condition: Condition<never> | undefined): ReadonlyArray<string> =>
  condition !== undefined && "tools" in condition && Array.isArray(condition.tools) ? condition.tools : []
