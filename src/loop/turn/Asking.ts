/**
 * An attempt in the environment of its turn: which model is asked what, with telemetry around it.
 *
 * Does not own the attempt itself (`Attempt`), nor what follows it (`ModelCall`).
 */
import * as Effect from "effect/Effect"
import type * as AttemptResult from "../../run/AttemptResult.ts"
import type * as Message from "../../run/Message.ts"
import * as Transcript from "../../run/Transcript.ts"
import type * as Model from "../../services/Model.ts"
import type * as Env from "../env/Env.ts"
import * as Chat from "../observe/Chat.ts"
import * as Attempt from "./Attempt.ts"
import * as Offer from "./Offer.ts"

/** The model that is asked, with the messages that are legal for it. */
export interface Asked {
  readonly model: Model.Model["Service"]
  readonly messages: ReadonlyArray<Message.Message>
}

/** Where hooks made `messages`, those are sent. */
export const of = (
  env: Env.Env,
  model: Model.Model["Service"],
  messages: ReadonlyArray<Message.Message> | undefined
): Asked => ({
  model,
  messages: messages ?? Transcript.messages(env.journal.transcript, model.info, env.system)
})

/** Makes an attempt. */
export const ask = function*(
  env: Env.Env,
  { messages, model }: Asked,
  attempt: number
): Effect.fn.Return<AttemptResult.AttemptResult> {
  const { journal, output, patience, sessionId, telemetry, tools } = env
  const { turn } = journal.state
  const metadata = { sessionId, runId: journal.runId, turn, attempt }
  const bare: Model.ModelRequest = { messages, tools, toolChoice: Offer.choiceOf(env), metadata }
  const request = output === undefined ? bare : { ...bare, output }
  const onLeftBehind = Effect.sync(() => {
    env.leftBehind.set(`model ${turn}.${attempt}`, { name: `model ${model.info.name}` })
  })
  const tried = Attempt.run(model, request, journal, patience, onLeftBehind)
  const result = yield* Chat.around(telemetry, model.info, request, tried)
  const broken = Chat.measure(telemetry, model.info, result)
  if (broken !== undefined) yield* broken
  return result
}
