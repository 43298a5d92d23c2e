/**
 * An attempt in the environment of its turn: which model is asked what, with telemetry around it.
 *
 * Does not own the attempt itself (`Attempt`), nor what follows it (`ModelCall`).
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as AttemptResult from "../../run/AttemptResult.ts"
import type * as Message from "../../run/Message.ts"
import * as Transcript from "../../run/Transcript.ts"
import * as Attempt from "../../services/attempts/Attempt.ts"
import * as Detached from "../../services/fibers/Detached.ts"
import * as Pace from "../../services/fibers/Pace.ts"
import type * as Model from "../../services/Model.ts"
import type * as Env from "../env/Env.ts"
import * as Chat from "../observe/Chat.ts"
import * as Offer from "./Offer.ts"
import { Showing } from "./Showing.ts"

/** The model that is asked, with the messages that are legal for it. */
export interface Asked {
  readonly model: Model.Model["Service"]
  readonly messages: ReadonlyArray<Message.Message>
  /** the last message is its own, to go on with */
  readonly continues: boolean
}

/** Where hooks made `messages`, those are sent. */
export const of = (
  env: Env.Env,
  model: Model.Model["Service"],
  messages: ReadonlyArray<Message.Message> | undefined
): Asked => {
  const { transcript } = env.journal
  const sent = messages ?? Transcript.messages(transcript, model.info, env.system)
  return { model, ...Transcript.prompt(transcript, model.info, sent) }
}

/** Makes an attempt. */
export const ask = function*(
  env: Env.Env,
  { continues, messages, model }: Asked,
  attempt: number
): Effect.fn.Return<AttemptResult.AttemptResult> {
  const { journal, output, patience, sessionId, telemetry, tools } = env
  const { turn } = journal.state
  const metadata = { sessionId, runId: journal.runId, turn, attempt }
  const plain: Model.ModelRequest = { messages, tools, toolChoice: Offer.choiceOf(env), metadata }
  const bare = continues ? { ...plain, continues } : plain
  const request = output === undefined ? bare : { ...bare, output }
  const onLeftBehind = Effect.sync(() => {
    env.leftBehind.set(`model ${turn}.${attempt}`, { name: `model ${model.info.name}` })
  })
  // others go first: if they abort the call, it is not made
  const tried = Effect.flatMap(Pace.letOthersGo, () => {
    const incoming = new Showing(metadata, journal, Context.get(Detached.contextHere(), Clock.Clock))
    return Attempt.of(model.stream(request), incoming, patience, onLeftBehind)
  })
  const result = yield* Chat.around(env, model.info, request, tried)
  const broken = Chat.measure(telemetry, model.info, result)
  if (broken !== undefined) yield* broken
  return result
}
