/**
 * How the application's code knows a call: its handler, its hooks and a reconciler get the same key.
 *
 * Does not own how a key is made (`OpenCall`).
 */
import * as OpenCall from "../../run/state/OpenCall.ts"
import type * as Env from "../env/Env.ts"

export const of = ({ journal, sessionId }: Pick<Env.Env, "journal" | "sessionId">, callId: string) => {
  // the run that made the call, which may be an older one than this drive's
  const { runId = journal.runId } = journal.state
  return { sessionId, runId, callId, idempotencyKey: OpenCall.idempotencyKey(sessionId, runId, callId) }
}
