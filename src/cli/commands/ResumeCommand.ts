/**
 * `fiberloop resume`: goes on with the last run of a session, as `fiberloop run --session` without a task does. At a
 * terminal, a session whose last run is complete goes on as a conversation.
 */
import * as Effect from "effect/Effect"
import * as GoingOn from "../GoingOn.ts"
import type { Ended, Refusal } from "../Refusal.ts"
import type { Settings } from "../Settings.ts"
import { Input } from "../terminal/Input.ts"
import { Output } from "../terminal/Output.ts"
import { type Signals, untilSignal } from "../terminal/Signals.ts"

export interface Options {
  readonly settings: Settings
  /** an id, or the beginning of one */
  readonly session: string
}

export const run = Effect.fnUntraced(function*(
  { session, settings: typed }: Options
): Effect.fn.Return<void, Ended | Refusal, Input | Output | Signals> {
  const { info, settings } = yield* untilSignal(GoingOn.find(typed, session))
  const { isTerminal } = yield* Input
  const { stderr } = yield* Output
  if (info.end === "RunCompleted" && isTerminal && !settings.json) {
    yield* stderr.write("Its last run is complete: go on with a message.\n")
    const Chat = yield* Effect.promise(() => import("../chat/Chat.ts"))
    return yield* Chat.run(settings)
  }
  const Run = yield* Effect.promise(() => import("../Run.ts"))
  yield* Run.run({ ...settings, task: undefined })
})
