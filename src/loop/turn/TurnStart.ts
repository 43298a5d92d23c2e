/**
 * How a turn begins in the log: what is said to its model, which model that is, how much of the log is sent to it, and what it is
 * offered.
 *
 * Does not own what that is (`Offer`, `ModelHooks`), nor when a turn begins (`Turn`, `TakingOver`).
 */
import type * as Message from "../../run/Message.ts"
import * as RunEvent from "../../run/RunEvent.ts"
import * as RunState from "../../run/RunState.ts"
import type * as Queue from "../../run/state/Queue.ts"
import * as Transcript from "../../run/Transcript.ts"
import * as Notice from "../../run/transcript/Notice.ts"
import * as Model from "../../services/Model.ts"
import type * as Env from "../env/Env.ts"
import type * as Journal from "../log/Journal.ts"
import * as Sizing from "./Sizing.ts"

/** Makes sure that the model has something to answer. */
export const awaitModel = (journal: Journal.Journal): void => {
  if (!Transcript.awaitsModel(journal.transcript)) journal.record(goOn)
}

const goOn = { _tag: "NoticeAdded", kind: "resume", text: Notice.goOn } as const

/** The transcript as it will be once these inputs are received, and the model has something to answer; nothing is recorded. */
export const planned = ({ runId, state, transcript }: Journal.Journal, due: Queue.Queue): Transcript.Transcript => {
  const placed = (after: number) => ({ seq: state.seq + 1 + after, at: state.at, runId, version: RunEvent.version })
  const received = due.reduce(
    (next, { kind, messages, seq: queued }, i) =>
      Transcript.append(next, { _tag: "InputReceived", ...placed(i), kind, messages, queued }),
    transcript
  )
  return Transcript.awaitsModel(received) ? received : Transcript.append(received, { ...goOn, ...placed(due.length) })
}

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
