/** A session that may be forked, and helpers to fork it. */
import type * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Message from "../../run/Message.ts"
import type * as RunEvent from "../../run/RunEvent.ts"
import * as SessionStore from "../../services/SessionStore.ts"
import * as Draft from "./Drafts.ts"
import { reasonOf } from "./Fixtures.ts"
import { assert } from "./TestRunner.ts"

export const usage = { inputTokens: 10, outputTokens: 5 }

/** Two turns of a run and its end, and a second run that is live. It may be forked at 6, 9 and 10. */
export const conversation: Arr.NonEmptyReadonlyArray<RunEvent.Durable> = Draft.log(
  Draft.started("What is the weather?"),
  Draft.turnStarted(1),
  Draft.assistant([Draft.call("search")], { finishReason: "tool-calls", usage }),
  Draft.toolStarted("1.0"),
  Draft.settled("1.0", "rain", { usage }),
  Draft.turnFinished(1),
  Draft.turnStarted(2),
  Draft.assistant([Message.text("It rains.")], { turn: 2, usage }),
  Draft.turnFinished(2),
  Draft.completed({ turns: 2 }),
  { ...Draft.started("And tomorrow?"), runId: "run-2" },
  { ...Draft.turnStarted(1), runId: "run-2" }
)

export const fork = (sessionId: string, to: string, at?: number) =>
  Effect.flatMap(
    SessionStore.SessionStore,
    (store) => store.fork(sessionId, { to, ...(at === undefined ? {} : { at }) })
  )

export const infoOf = (sessionId: string) => Effect.flatMap(SessionStore.SessionStore, (store) => store.info(sessionId))

/** The field that was refused and why. */
export const refusalOf = <A, R>(effect: Effect.Effect<A, SessionStore.StoreError, R>) =>
  Effect.map(reasonOf(effect), (reason) => {
    assert.strictEqual(reason._tag, "InvalidInput")
    return reason._tag === "InvalidInput" ? reason : assert.fail(reason._tag)
  })
