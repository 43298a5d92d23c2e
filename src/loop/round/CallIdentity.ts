/**
 * Who a call is to the application's code: its handler, its hooks and a reconciler know it by the same key.
 *
 * Does not own how a key is made (`OpenCall`).
 */
import * as OpenCall from "../../run/state/OpenCall.ts"
import type * as Env from "../env/Env.ts"

export const of = ({ journal, sessionId }: Pick<Env.Env, "journal" | "sessionId">, callId: string) => {
  // the run that made the call, from which another may be recovering
  const { runId = journal.runId } = journal.state
  return { sessionId, runId, callId, idempotencyKey: OpenCall.idempotencyKey(sessionId, runId, callId) }
}
