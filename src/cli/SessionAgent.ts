/**
 * Which agent a kept session belongs to: the one of its last run. The command has neither the tools nor the instructions of
 * other programs' agents, and goes on with their sessions only when told to.
 *
 * Does not own how the command's agent is made (`CliAgent.ts`).
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type * as DurableEvent from "../run/DurableEvent.ts"
import type * as SessionStore from "../services/SessionStore.ts"
import * as Sessions from "../Sessions.ts"
import * as Database from "./Database.ts"
import type { Kept } from "./KeptSession.ts"
import * as Messages from "./Messages.ts"
import { badInput, type Refusal } from "./Refusal.ts"
import type { Settings } from "./Settings.ts"

/** The name of the command's agent in the logs of its runs. */
export const own = "fiberloop/cli/CliAgent"

/** Allows going on with the session of another program. */
const flag = "--as-fiberloop"

type RunStarted = DurableEvent.Of<"RunStarted">

/** The start of the last run; `undefined` where there was none. */
export const lastStarted = Effect.fnUntraced(function*(
  { info: { sessionId }, store }: Kept
): Effect.fn.Return<RunStarted | undefined, Refusal> {
  const seq = yield* Effect.mapError(store.lastOf(sessionId, "RunStarted"), Messages.refusal)
  if (seq === undefined) return undefined
  const [started] = yield* Effect.mapError(
    Stream.runCollect(store.read(sessionId, { from: seq, to: seq })),
    Messages.refusal
  )
  return started?._tag === "RunStarted" ? started : undefined
})

/** The other program's agent that made the last run; `undefined` where that was the command's agent, or there was no run. */
export const foreign = (kept: Kept): Effect.Effect<string | undefined, Refusal> =>
  Effect.map(lastStarted(kept), (run) => run?.agent === own ? undefined : run?.agent)

/** The state of its last run. */
export const current = ({ info: { sessionId }, store }: Kept) => Database.asked(store, Sessions.current(sessionId))

/** The session to go on with once people have answered in this one (`Sessions.outermost`). */
export const outermost = Effect.fnUntraced(function*(kept: Kept): Effect.fn.Return<Kept, Refusal> {
  const { info: { sessionId }, store } = kept
  const outer = yield* Database.asked(store, Sessions.outermost(sessionId))
  if (outer === sessionId) return kept
  const info = yield* Effect.mapError(store.info(outer), Messages.refusal)
  return info === undefined ? kept : { store, info }
})

/**
 * The settings to go on with the session, which must be the command's own unless they say `asFiberloop`; `call` is what its
 * program would call.
 */
export const admit = Effect.fnUntraced(function*(
  settings: Settings,
  kept: Kept,
  call: (info: SessionStore.SessionInfo) => string
): Effect.fn.Return<Settings, Refusal> {
  const agent = yield* foreign(kept)
  if (agent === undefined) return settings
  if (!settings.asFiberloop) {
    return yield* badInput(
      `session ${JSON.stringify(kept.info.sessionId)} belongs to the agent ${
        JSON.stringify(agent)
      }, and only that agent's ` +
        `program can continue it: call ${
          call(kept.info)
        } there; ${flag} continues it with fiberloop's own agent instead`
    )
  }
  return settings.flags.includes(flag) ? settings : { ...settings, flags: [...settings.flags, flag] }
})
