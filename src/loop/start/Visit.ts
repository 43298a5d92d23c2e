/**
 * Takes a session that no drive has, for as long as something is appended to its log. A drive that died gets its end first; no
 * agent is driven.
 *
 * Does not own what is appended.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as RunError from "../../run/RunError.ts"
import * as Budget from "../env/Budget.ts"
import type * as Definition from "../env/Definition.ts"
import * as Env from "../env/Env.ts"
import type * as Settings from "../env/Settings.ts"
import * as Fold from "../log/Fold.ts"
import * as Observing from "../observe/Observing.ts"
import * as Kin from "../open/Kin.ts"
import * as Recovery from "../open/Recovery.ts"
import * as Brief from "./Brief.ts"

/** The agent that takes the session. */
export interface Visitor {
  readonly services: Env.Services
  readonly definition: Definition.Definition
  readonly settings: Settings.Settings
}

/**
 * The environment of a session's last run; `before` is its log as far as it is known and needed. Fails with `SessionBusy` where
 * the session is live; `undefined` where it has had no run yet.
 */
export const open = Effect.fnUntraced(function*(
  { definition, services, settings }: Visitor,
  sessionId: string,
  before: Fold.Folded
): Effect.fn.Return<Env.Env | undefined, RunError.RunError, Scope.Scope> {
  const { store } = services
  if (before.state.runId === undefined) return undefined
  const session = yield* store.open(sessionId, { runId: before.state.runId, create: false })
  const folded = yield* Fold.fold(store, sessionId, before)
  // another process may have run something since
  const { input, runId } = folded.state
  if (input === undefined || runId === undefined) return undefined
  const brief = yield* Brief.ofLog(definition, input, yield* Effect.fromResult(settings.timeouts))
  const { agent, handlers: { tools } } = brief
  const budget = new Budget.Budget({ sessionId, runId })
  budget.follow(folded)
  yield* Kin.recall(store, sessionId, budget, folded.state)
  const feed = Observing.besideDrives({ agent, sessionId, tools }, folded.state, settings)
  const others = { ...Env.nobody(budget), feed }
  const env = Env.make(services, { brief, runId, sessionId, settings }, others, { session, ...folded })
  yield* Recovery.recover(env, store, false)
  return env
})
