/** `/compact` at the prompt of a conversation: its context is made smaller before the next message. */
import * as Effect from "effect/Effect"
import type * as Agent from "../../Agent.ts"
import * as Messages from "../Messages.ts"
import { Output } from "../Output.ts"
import * as Shortening from "../Shortening.ts"
import { Signals } from "../Signals.ts"

export const isAsked = (typed: string): boolean => typed.trim() === "/compact"

/** Says what became of it. A signal leaves the conversation as it is; Ctrl-C ends no more than that. */
export const run = Effect.fnUntraced(function*(
  client: Agent.Client<string>,
  sessionId: string | undefined
): Effect.fn.Return<void, never, Output | Signals> {
  const { stderr } = yield* Output
  const { first, forget } = yield* Signals
  if (sessionId === undefined) return yield* stderr.write("Nothing was said yet.\n")
  const shortened = Effect.match(Shortening.shorten(client, sessionId), {
    onSuccess: Shortening.text,
    onFailure: ({ line }) => `${Messages.line(line)}\n`
  })
  const stopped = Effect.flatMap(
    first,
    (signal) => Effect.as(signal === "SIGINT" ? forget : Effect.void, "Stopped, the conversation is as it was.\n")
  )
  yield* stderr.write(yield* Effect.raceFirst(shortened, stopped))
})
