/** What was said last in a kept session. Does not own what it looks like (`render/RenderExchange.ts`). */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Message from "../run/Message.ts"
import * as RunEvent from "../run/RunEvent.ts"
import * as ErrorWords from "./ErrorWords.ts"
import type { Kept } from "./KeptSession.ts"
import type { Refusal } from "./Refusal.ts"

/** The last words of the user, and what the model has said after them: nothing is an empty text. */
export interface Exchange {
  readonly question: ReadonlyArray<Message.UserMessage>
  readonly answer: string
  /** whether the answer was not finished */
  readonly isCutOff: boolean
}

/** That of the session's last run; `undefined` where there was none. */
export const of = Effect.fnUntraced(function*(
  { info: { sessionId }, store }: Kept
): Effect.fn.Return<Exchange | undefined, Refusal> {
  const from = yield* Effect.mapError(store.lastOf(sessionId, "RunStarted"), ErrorWords.refusal)
  if (from === undefined) return undefined
  return yield* store.read(sessionId, { from }).pipe(
    Stream.runFold(() => asked([]), evolve),
    Effect.mapError(ErrorWords.refusal)
  )
})

const asked = (question: Exchange["question"]): Exchange => ({ question, answer: "", isCutOff: false })

const evolve = (said: Exchange, event: RunEvent.Durable): Exchange => {
  switch (event._tag) {
    case "RunStarted":
      return asked(event.input.messages)
    case "InputReceived":
      return asked(event.messages)
    case "AssistantMessage":
      return answered(said, Message.textOf(event.message.content), false)
    default:
      return RunEvent.isEnd(event) ? answered(said, RunEvent.unfinishedOf(event).join("\n\n"), true) : said
  }
}

const answered = (said: Exchange, text: string, isCutOff: boolean): Exchange =>
  text.trim() === "" ? said : { ...said, answer: text.trim(), isCutOff }
