/** `fiberloop steer`: a message to the run of a session that some process is driving. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as Delivery from "../../run/Delivery.ts"
import * as IdleAgent from "../agent/IdleAgent.ts"
import * as ErrorWords from "../ErrorWords.ts"
import { codes, Ended, type Refusal } from "../Refusal.ts"
import * as Print from "../render/Print.ts"
import * as TerminalText from "../render/TerminalText.ts"
import * as KeptSession from "../session/KeptSession.ts"
import type { Settings } from "../Settings.ts"
import { Output } from "../terminal/Output.ts"
import { type Signals, untilSignal } from "../terminal/Signals.ts"

export interface Options {
  readonly place: Settings
  /** an id, or the beginning of one */
  readonly session: string
  readonly message: string
  readonly kind: "steer" | "followUp"
}

const steer = Effect.fnUntraced(function*(
  { kind, message, place, session }: Options
): Effect.fn.Return<void, Ended | Refusal, Output | Scope.Scope> {
  const { info: { sessionId }, store } = yield* KeptSession.find(place, session)
  const agent = yield* IdleAgent.make(place, store)
  const { stderr } = yield* Output
  const told = yield* Effect.mapError(
    agent.queue(sessionId, kind, message),
    ErrorWords.refusalFrom(sessionId, " that cannot be sent a message: try again")
  )
  const waiting = Effect.delay(stderr.write(waits[kind]), "1 second")
  const delivery = yield* Effect.raceFirst(
    Effect.mapError(told, ErrorWords.refusal),
    Effect.andThen(place.json ? Effect.void : waiting, Effect.never)
  )
  const line = `${TerminalText.json(JSON.stringify({ sessionId, ...delivery }))}\n`
  yield* Print.print(place.json ? line : said(sessionId, delivery))
  if (delivery._tag === "NotDelivered") yield* new Ended({ code: codes.failed })
})

const waits = {
  steer: "The run has the message, and gives it to its model with the next turn. Ctrl-C leaves it there.\n",
  followUp: "The run has the message, and goes on with it instead of completing. Ctrl-C leaves it there.\n"
} as const

const said = (sessionId: string, delivery: Delivery.Delivery): string =>
  delivery._tag === "Delivered"
    ? `✓ delivered with turn ${delivery.turn} of session ${TerminalText.line(sessionId)}\n`
    : `${delivery.explain}\n`

export const run = (options: Options): Effect.Effect<void, Ended | Refusal, Output | Signals> =>
  untilSignal(Effect.scoped(steer(options)))
