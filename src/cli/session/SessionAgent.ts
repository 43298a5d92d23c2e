/**
 * Which agent a kept session belongs to: the one of its last run. The command has neither the tools nor the instructions of
 * other programs' agents, and goes on with their sessions only when told to.
 *
 * Does not own how the command's agent is made (`CliAgent.ts`).
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as SessionStore from "../../services/SessionStore.ts"
import { badInput, type Refusal } from "../Refusal.ts"
import type { Settings } from "../Settings.ts"
import * as AgentName from "./AgentName.ts"
import * as KeptRuns from "./KeptRuns.ts"
import type { Kept } from "./KeptSession.ts"

/** Allows going on with the session of another program. */
const flag = "--as-fiberloop"

/** The other program's agent that made the last run; `undefined` where that was the command's agent, or there was no run. */
export const foreign = (kept: Kept): Effect.Effect<string | undefined, Refusal> =>
  Effect.map(KeptRuns.lastStarted(kept), (run) => run?.agent === AgentName.own ? undefined : run?.agent)

/**
 * The settings to go on with the session, which must be the command's own unless they say `asFiberloop`; `call` is what its
 * program would call.
 */
export const admit = (
  settings: Settings,
  kept: Kept,
  call: (info: SessionStore.SessionInfo) => string
): Effect.Effect<Settings, Refusal> =>
  Effect.flatMap(foreign(kept), (agent) => Effect.fromResult(allowed(settings, kept.info, agent, call)))

/** The same, where it is known that the session belongs to this agent of another program, if to any. */
export const allowed = (
  settings: Settings,
  info: SessionStore.SessionInfo,
  agent: string | undefined,
  call: (info: SessionStore.SessionInfo) => string
): Result.Result<Settings, Refusal> => {
  if (agent === undefined) return Result.succeed(settings)
  if (!settings.asFiberloop) {
    return Result.fail(badInput(
      `session ${JSON.stringify(info.sessionId)} belongs to the agent ${
        JSON.stringify(agent)
      }, and only that agent's ` +
        `program can continue it: call ${call(info)} there; ${flag} continues it with fiberloop's own agent instead`
    ))
  }
  return Result.succeed(
    settings.flags.includes(flag) ? settings : { ...settings, flags: [...settings.flags, flag] }
  )
}
