/**
 * What a drive that died means for the next one: its end is appended first, and after too many deaths no turn follows.
 *
 * Does not own what that end is (`Recovery`), nor what the next drive begins with (`FirstEvent`).
 */
import * as Effect from "effect/Effect"
import * as RunDrive from "../../run/state/RunDrive.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import type * as Budget from "../env/Budget.ts"
import * as DriveRequest from "../env/DriveRequest.ts"
import * as Env from "../env/Env.ts"
import * as Observing from "../observe/Observing.ts"
import * as Deaths from "./Deaths.ts"
import * as HeldBack from "./HeldBack.ts"
import type * as Opening from "./Opening.ts"
import * as Recovery from "./Recovery.ts"

/**
 * Whether a drive that died had accepted an abort with which the run is over: only who resumes it by hand, or has something new to say,
 * goes on after that.
 */
export const onlyAborts = ({ begin: asked }: DriveRequest.DriveRequest, { begin, state }: Opening.Ready): boolean =>
  state.abortRequested !== undefined && begin._tag === "Resume" && !DriveRequest.isByHand(asked)

/**
 * Ends a drive that died. If something follows, the end is stored together with the first event of that, so that nobody finds one
 * without the other; if the run is over with it, it is stored alone. If the run is not continued after all, the log stays as it is.
 * `around` is put around what the application is asked before anything is stored.
 */
export const recovered = Effect.fnUntraced(function*(
  services: Env.Services,
  request: DriveRequest.DriveRequest,
  opened: Opening.Ready,
  budget: Budget.Budget,
  around: (asking: Effect.Effect<void, SessionStore.StoreError>) => Effect.Effect<void, SessionStore.StoreError>
): Effect.fn.Return<Opening.Opened, SessionStore.StoreError> {
  const { agent, handlers: { tools } } = request.brief
  const { sessionId, settings } = request
  const { store } = services
  const observing = Observing.besideDrives({ agent, sessionId, tools }, opened.state, settings)
  const { first, flush, second } = HeldBack.make(opened.session, (events) => observing.publish(events))
  const env = Env.make(services, request, Env.nobody(budget), { ...opened, session: first })
  const isResumed = opened.begin._tag === "Resume"
  const areTooMany = isResumed && (yield* Deaths.areTooMany(store, sessionId, opened.state))
  yield* around(Recovery.recover(env, store, areTooMany))
  const state = env.journal.state
  const isOver = onlyAborts(request, opened) || (isResumed && state.end?._tag === "RunLimited")
  if (!isOver) return { ...opened, session: second, state, transcript: env.journal.transcript }
  yield* flush
  return { _tag: "Replay", past: { from: opened.from, to: state.seq, state } }
})

/**
 * Whether the run has died too often for another turn, although `recovered` had nothing to write: somebody else has ended the drive
 * that died, to record an answer for example. A caller who resumes the run by hand knows how it ended, and may try again.
 */
export const isParked = (
  store: SessionStore.Store,
  request: DriveRequest.DriveRequest,
  { begin, state }: Opening.Ready
): Effect.Effect<boolean, SessionStore.StoreError> =>
  begin._tag === "Resume" && !DriveRequest.isByHand(request.begin) && RunDrive.isCrashLoop(state)
    ? Deaths.areTooMany(store, request.sessionId, state)
    : Effect.succeed(false)
