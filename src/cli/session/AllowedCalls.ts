/**
 * The calls of a session's last run that somebody has allowed and that have not begun: going on with the run makes them without a
 * question.
 *
 * Does not own what they look like (`RenderApprovals.ts`), nor whose session it is (`SessionAgent.ts`).
 */
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type * as RunState from "../../run/RunState.ts"
import * as OpenCall from "../../run/state/OpenCall.ts"
import type * as SessionStore from "../../services/SessionStore.ts"

/** `params` are those that it runs with, `by` is who allowed it, as the log names them. */
export interface AllowedCall {
  readonly callId: string
  readonly tool: string
  readonly params: Schema.Json
  readonly by?: string
}

/** In call order. The log is read where there are any: it alone says who allowed them. */
export const of = Effect.fnUntraced(function*(
  store: SessionStore.Store,
  sessionId: string,
  { openCalls, startSeq }: RunState.RunState
): Effect.fn.Return<ReadonlyArray<AllowedCall>, SessionStore.StoreError> {
  const calls = openCalls.filter(isAllowed)
  if (calls.length === 0) return []
  const deciders = new Map<string, string | undefined>()
  yield* Stream.runForEach(store.read(sessionId, { from: startSeq }), (event) =>
    Effect.sync(() => {
      if (event._tag === "ApprovalResolved") deciders.set(event.approvalId, event.by)
    }))
  return calls.map((call) => {
    const by = deciders.get(call.approvalId ?? "")
    const { callId, tool } = call
    return { callId, tool, params: OpenCall.final(call), ...(by === undefined ? {} : { by }) }
  })
})

const isAllowed = (call: OpenCall.OpenCall): boolean =>
  call.decision?.approved === true && !OpenCall.hasStarted(call) && !OpenCall.isAnswered(call)
