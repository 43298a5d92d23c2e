/**
 * One try at a model call, from its stream to what came of it: for the calls of turns and of strategies. Keeps to the time limits,
 * and closes the stream, or leaves behind one that cannot be closed.
 *
 * Does not own what comes in meanwhile (`Incoming`), what is too long (`TimeLimit`), nor whether there is another try (`Tries`).
 */
import * as Cause from "effect/Cause"
import * as Channel from "effect/Channel"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Pull from "effect/Pull"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as AttemptResult from "../../run/AttemptResult.ts"
import * as RunError from "../../run/RunError.ts"
import * as Detached from "../fibers/Detached.ts"
import * as Leavable from "../fibers/Leavable.ts"
import * as Grace from "../Grace.ts"
import type * as Model from "../Model.ts"
import * as SessionStore from "../SessionStore.ts"
import type { Incoming } from "./Incoming.ts"
import type * as Patience from "./Patience.ts"
import { TimeLeft } from "./TimeLeft.ts"
import * as TimeLimit from "./TimeLimit.ts"

type Answer = ReturnType<Model.Model["Service"]["stream"]>

/**
 * Reads an answer into `incoming`, which has just been made. Interrupting it, or a time limit, takes at most the grace period;
 * what does not end in it is left running, and `onLeftBehind` reports it.
 */
export const of = (
  stream: Answer,
  incoming: Incoming,
  patience: Patience.Patience,
  onLeftBehind: Effect.Effect<void>
): Effect.Effect<AttemptResult.AttemptResult> =>
  Effect.callback((resume) => {
    const tell = (ended: Reading) =>
      resume(Effect.match(ended, {
        onSuccess: () => resultOf(incoming),
        onFailure: (error) => Cause.isDone(error) ? resultOf(incoming) : failed(error, incoming)
      }))
    const context = Context.add(Detached.contextHere(), TimeLeft, () => TimeLimit.left(incoming, patience))
    const fiber = Detached.start(read(stream, incoming, onLeftBehind), context)
    const exit = fiber.pollUnsafe()
    if (exit === undefined) {
      return Leavable.awaiting(fiber, tell, tell, onLeftBehind, () => TimeLimit.of(incoming, patience))
    }
    if (exit._tag === "Success") resume(Effect.succeed(resultOf(incoming)))
    else tell(exit)
  })

type Reading = Effect.Effect<void, RunError.ModelError | Cause.Done<unknown>>

/** Reads an answer up to its finish, and closes its stream. */
const read = (
  stream: Answer,
  incoming: Incoming,
  onLeftBehind: Effect.Effect<void>
): Reading => {
  const scope = Scope.makeUnsafe()
  const pulled = Effect.flatMap(
    Channel.toPullScoped(Stream.toChannel(stream), scope),
    (pull) => incoming.read(pull)
  )
  // an answer that is complete does not wait for a stream that cannot be closed
  return Effect.onExitPrimitive(pulled, (exit) => {
    const closing = Grace.closing(scope, endOf(exit))
    return closing && Effect.flatMap(closing, (isClosed) => isClosed ? Effect.void : onLeftBehind)
  })
}

/** The end of a stream is not a failure. */
const endOf = (exit: Exit.Exit<void, unknown>): Exit.Exit<void, unknown> =>
  exit._tag === "Failure" && Pull.isDoneCause(exit.cause) ? Exit.asVoid(Pull.doneExitFromCause(exit.cause)) : exit

const resultOf = (incoming: Incoming): AttemptResult.AttemptResult => {
  incoming.end()
  const now = incoming.now()
  const { collector, firstPartAt = now, startedAt } = incoming
  const { finish } = collector
  if (finish === undefined) {
    return failed(incoming.isTooLarge ? tooLarge(collector.size) : AttemptResult.truncated, incoming)
  }
  if (finish.reason === "error") return failed(AttemptResult.gaveUp, incoming)
  const content = collector.content()
  const { sources } = collector
  const refused = incoming.refused(content, sources)
  if (refused !== undefined) return failed(refused, incoming)
  return {
    _tag: "Settled",
    content,
    ...(sources === undefined ? {} : { sources }),
    finishReason: AttemptResult.finishReason(finish.reason),
    usage: finish.usage,
    response: collector.response,
    firstPart: firstPartAt - startedAt,
    duration: now - startedAt
  }
}

const tooLarge = (size: number) => RunError.tooLarge("the model's answer so far", size, SessionStore.maxContentBytes)

const failed = (error: AttemptResult.Failed["error"], incoming: Incoming): AttemptResult.Failed => {
  incoming.end()
  return {
    _tag: "Failed",
    error,
    usage: incoming.collector.used,
    duration: incoming.now() - incoming.startedAt
  }
}
