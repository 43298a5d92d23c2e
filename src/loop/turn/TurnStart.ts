/**
 * How a turn begins in the log: which model is asked, how much of the log is sent to it, and what it is offered.
 *
 * Does not own what that is (`Offer`, `ModelHooks`), nor when a turn begins (`Turn`, `TakingOver`).
 */
import type * as Message from "../../run/Message.ts"
import type * as RunEvent from "../../run/RunEvent.ts"
import * as RunState from "../../run/RunState.ts"
import * as Model from "../../services/Model.ts"
import type * as Env from "../env/Env.ts"
import * as Sizing from "./Sizing.ts"

/** The next turn begins; `isCut`: with fewer tools than the run may use. `messages` are those that hooks made. */
export const first = (
  env: Env.Env,
  { info }: Model.Model["Service"],
  isCut: boolean,
  messages: ReadonlyArray<Message.Message> | undefined
): void => {
  const { journal } = env
  const started = draft(env, RunState.nextTurn(journal.state), info, isCut)
  journal.record(info.contextWindow === undefined ? started : { ...started, size: Sizing.sent(env, messages) })
}

/** The turn under way begins again with fewer tools, with a model that took over. */
export const again = (env: Env.Env, { info }: Model.Model["Service"]): void => {
  const { journal } = env
  journal.record(draft(env, journal.state.turn, info, true))
}

const draft = (
  { inputDigest, journal, tools }: Env.Env,
  turn: number,
  info: Model.ModelInfo,
  isCut: boolean
): Extract<RunEvent.Draft, { _tag: "TurnStarted" }> => {
  const promptSeq = journal.state.seq
  const model = Model.refOf(info)
  const started = { _tag: "TurnStarted" as const, turn, model, promptSeq, inputDigest }
  return isCut ? { ...started, tools: tools.map(({ name }) => name) } : started
}
