/**
 * A run in the hands of the caller who asked for it: it ends when the caller leaves, unless it was somebody else's before.
 *
 * Does not own how it comes about (`Start`), nor how it ends then (`Live`).
 */
import * as Channel from "effect/Channel"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type * as RunError from "../../run/RunError.ts"
import * as RunEvent from "../../run/RunEvent.ts"
import type * as Runs from "../../services/Runs.ts"
import type * as Live from "../drive/Live.ts"
import * as Stop from "../drive/Stop.ts"
import * as CallAround from "../env/CallAround.ts"
import * as Reading from "../log/Reading.ts"

/** A run that was started here, or an existing one that is attached to, which is somebody else's to abort. */
export type Started =
  | { readonly run: Live.Live; readonly isAttached: false }
  | { readonly run: Runs.LiveRun; readonly isAttached: true }

/** Starts a run or attaches to one. */
export type Starting = Effect.Effect<Started, RunError.RunError>

/**
 * Called when a caller goes: ends the run, unless they had only attached to it. Where the caller works for a call, and the drive around
 * them is cut off and goes on by itself later, the run ends for the same reason, as both go on then. The effect waits for that end.
 */
export const leave = ({ isAttached, run }: Started): Effect.Effect<void> =>
  isAttached ? Effect.void : Effect.withFiber(({ context }) => {
    const stop = CallAround.of(context) === undefined ? undefined : Context.get(context, Stop.DriveAround)?.stopped
    // the first reason counts
    if (stop !== undefined && RunEvent.isLeft(stop)) Stop.cutOff(run, stop)
    return run.end("consumer")
  })

/** Passes a run to `use`, and ends the run when `use` is interrupted. */
export const held = <A>(
  starting: Starting,
  use: (run: Runs.LiveRun) => Effect.Effect<A, RunError.RunError>
): Effect.Effect<A, RunError.RunError> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(starting, (started) => Effect.onInterrupt(restore(use(started.run)), () => leave(started)))
  )

/** The events of a run that ends when its reader leaves. */
export const whileRead = (starting: Starting): Stream.Stream<RunEvent.RunEvent, RunError.RunError> =>
  Reading.stream({
    open: starting,
    close: leave,
    // a reader of a run that was started here need not leave the feed: the run ends when it leaves, and the feed with the run
    pull: ({ isAttached, run }, scope) =>
      isAttached
        ? Channel.toPullScoped(Stream.toChannel(run.events), scope)
        : Effect.succeed(run.feed.open().pull)
  })
