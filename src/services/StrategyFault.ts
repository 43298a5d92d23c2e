/**
 * When a strategy breaks, or takes too long: its compaction has then failed, as if it had said so, and whatever follows that
 * strategy is next. One whose plan breaks asks for nothing.
 *
 * Does not own how long it may take (`Timeouts`), nor how it is cut off (`Leavable`).
 */
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Foreign from "../run/Foreign.ts"
import * as RunPolicy from "../run/RunPolicy.ts"
import * as ContextManager from "./ContextManager.ts"
import * as Leavable from "./fibers/Leavable.ts"
import * as LeaveBehind from "./LeaveBehind.ts"
import * as Timeouts from "./Timeouts.ts"
import * as Warning from "./Warning.ts"

type Making = Effect.Effect<ContextManager.Compaction, ContextManager.CompactionError>

/** What a strategy says of a context: `Broken` where it throws or returns no plan, with how. */
export const planned = (manager: Strategy, view: ContextManager.View): ContextManager.Plan | Broken => {
  try {
    const plan = manager.plan(view)
    return Foreign.look(() => isPlan(plan), false)
      ? plan
      : { _tag: "Broken", how: `planned ${Warning.whatIs(plan)}, which is no plan` }
  } catch (thrown) {
    return { _tag: "Broken", how: `failed${Warning.saidOf(thrown)}` }
  }
}

type Strategy = ContextManager.ContextManager["Service"]

interface Broken {
  readonly _tag: "Broken"
  readonly how: string
}

/** A request is made of the view, which has a ledger and a size. */
const isPlan = (plan: ContextManager.Plan): boolean =>
  plan._tag === "Send" ||
  (plan._tag === "Compact" && typeof plan.request.ledger === "object" && typeof plan.request.size === "object")

/** The same of a strategy named `who`: nothing where it broke, and a warning says where. */
export const plan = function*(
  who: string,
  manager: Strategy,
  view: ContextManager.View
): Effect.fn.Return<ContextManager.Plan | undefined> {
  const plan = planned(manager, view)
  if (plan._tag !== "Broken") return plan
  yield* Warning.warn(`${who} ${plan.how}; so it plans nothing`)
  return undefined
}

/** What a strategy makes of a request: it dies where the strategy throws or returns no effect. */
export const asked = (
  manager: Pick<Strategy, "compact">,
  request: ContextManager.Request
): Making => Effect.suspend(() => made(manager.compact(request)))

const made = (given: Making): Making => Foreign.isEffect(given) ? given : noEffect

const noEffect = Effect.die("it returned no Effect")

/**
 * A strategy, named `who` when it dies, interrupts itself or fails with another error. The log has none of its words; a warning
 * says where it broke. On a fiber of its own it may even interrupt that.
 */
export const contained = (who: string, self: Making): Making =>
  // after an interruption from outside nothing is caught
  Effect.catchCause(self, (cause) =>
    Cause.hasInterruptsOnly(cause) || cause.reasons.some(isBroken)
      ? Effect.andThen(
        Warning.warn(`${who} ${Warning.howOf(cause)}; so its compaction has failed`),
        failed(Cause.hasInterruptsOnly(cause) ? `${who} interrupted itself` : unexpectedly(who))
      )
      : Effect.failCause(cause))

const isBroken = (reason: Cause.Reason<ContextManager.CompactionError>): boolean =>
  Cause.isDieReason(reason) || (Cause.isFailReason(reason) && !isOwn(reason.error))

const isOwn = (error: ContextManager.CompactionError): boolean =>
  Foreign.look(() => error._tag === "CompactionError", false)

/** A strategy, named `who` when it fails: it is cut off once its time is over. */
export const limited = (
  who: string,
  { compaction = RunPolicy.defaultTimeouts.compaction }: RunPolicy.TimeoutsInput,
  self: Making
): Making => {
  const duration = Duration.fromInputUnsafe(compaction)
  const message = `${who} took longer than ${Duration.format(duration)}, the limit of timeouts.compaction`
  return Effect.timeoutOrElse(self, { duration, orElse: () => failed(message) })
}

/** What one of several strategies returns, within the time that it has, and contained. */
export const within = (who: string, self: Making): Making =>
  Effect.flatMap(
    Timeouts.Timeouts,
    (timeouts) => limited(who, timeouts, contained(who, Leavable.run(self, leave)))
  )

const leave = Effect.flatMap(LeaveBehind.LeaveBehind, (leave) => leave("compaction"))

/** How a strategy failed that broke: in words for callers and the log, which have none of its own. */
export const unexpectedly = (who: string): string => `${who} failed unexpectedly`

const failed = (message: string) => Effect.fail(new ContextManager.CompactionError({ message }))
