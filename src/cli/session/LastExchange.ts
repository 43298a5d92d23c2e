/** What was said last in a kept session. Does not own what it looks like (`render/RenderExchange.ts`). */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Message from "../../run/Message.ts"
import * as RunEvent from "../../run/RunEvent.ts"
import type * as Source from "../../run/Source.ts"
import * as ErrorWords from "../ErrorWords.ts"
import type { Refusal } from "../Refusal.ts"
import type { Kept } from "./KeptSession.ts"

/** The last words of the user, and what the model has said after them. */
export interface Exchange {
  readonly question: ReadonlyArray<Message.UserMessage>
  /** empty if it said nothing */
  readonly answer: string
  /** whether the answer was not finished */
  readonly isCutOff: boolean
  /** what the answer rests on */
  readonly sources: ReadonlyArray<Source.Source>
}

/** So many events are read at once, from the end of the log. */
const page = 200
/** Where so many events hold the answer but no words of the user, those that the run began with are taken. */
const most = 2_000

/** The session's last exchange; `undefined` where there was none. Its cost does not grow with a run whose last answer is near its end. */
export const of = Effect.fnUntraced(function*(
  { info: { head, sessionId }, store }: Kept
): Effect.fn.Return<Exchange | undefined, Refusal> {
  let said: Partial<Exchange> = {}
  for (let to = head; to > 0 && !isEnough(said, head - to); to -= page) {
    const events = store.read(sessionId, { from: Math.max(1, to - page + 1), to })
    const before = yield* Effect.mapError(
      Stream.runFold(events, (): Partial<Exchange> => ({}), evolve),
      ErrorWords.refusal
    )
    said = { ...before, ...said }
  }
  const question = said.question ?? (yield* Effect.mapError(first(sessionId, store), ErrorWords.refusal))
  return question && { answer: "", isCutOff: false, sources: [], ...said, question }
})

const isEnough = ({ answer, question }: Partial<Exchange>, read: number): boolean =>
  question !== undefined || (answer !== undefined && read >= most)

/** What the last run began with. */
const first = Effect.fnUntraced(function*(sessionId: string, store: Kept["store"]) {
  const from = yield* store.lastOf(sessionId, "RunStarted")
  if (from === undefined) return undefined
  const { question } = yield* Stream.runFold(
    store.read(sessionId, { from, to: from }),
    (): Partial<Exchange> => ({}),
    evolve
  )
  return question
})

/** What is known of the exchange after these events, the first of which may come after its question. */
const evolve = (said: Partial<Exchange>, event: RunEvent.Durable): Partial<Exchange> => {
  switch (event._tag) {
    case "RunStarted":
      return { question: event.input.messages }
    case "InputReceived":
      return { question: event.messages }
    case "AssistantMessage": {
      const { message, sources = [] } = event
      return answered(said, { answer: Message.textOf(message.content), isCutOff: false, sources })
    }
    default: {
      const answer = RunEvent.isEnd(event) ? RunEvent.unfinishedOf(event).join("\n\n") : ""
      return answered(said, { answer, isCutOff: true, sources: [] })
    }
  }
}

const answered = (said: Partial<Exchange>, last: Omit<Exchange, "question">): Partial<Exchange> => {
  const answer = last.answer.trim()
  return answer === "" ? said : { ...said, ...last, answer }
}
