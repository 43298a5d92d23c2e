/**
 * One try at a model call, from the request to what came of it. Keeps to the time limits, and closes the stream, or leaves behind
 * one that cannot be closed.
 *
 * Does not own what comes in meanwhile (`Incoming`), what is too long (`TimeLimit`), nor whether there is another try (`Tries`).
 */
import * as Cause from "effect/Cause"
import * as Channel from "effect/Channel"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Pull from "effect/Pull"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as AttemptResult from "../../run/AttemptResult.ts"
import type * as RunError from "../../run/RunError.ts"
import * as Detached from "../../services/fibers/Detached.ts"
import * as Leavable from "../../services/fibers/Leavable.ts"
import * as Pace from "../../services/fibers/Pace.ts"
import * as Grace from "../../services/Grace.ts"
import type * as Model from "../../services/Model.ts"
import type * as Patience from "../env/Patience.ts"
import type * as Journal from "../log/Journal.ts"
import * as TooLarge from "../log/TooLarge.ts"
import { Incoming } from "./Incoming.ts"
import * as TimeLimit from "./TimeLimit.ts"

export const run = (
  model: Model.Model["Service"],
  request: Model.ModelRequest,
  journal: Journal.Journal,
  patience: Patience.Patience,
  onLeftBehind: Effect.Effect<void>
): Effect.Effect<AttemptResult.AttemptResult> =>
  // others go first: if they abort the call, it is not made
  Effect.flatMap(Pace.letOthersGo, () => {
    const here = Detached.contextHere()
    const incoming = new Incoming(request.metadata, journal, Context.get(here, Clock.Clock))
    const reading = read(model.stream(request), incoming, onLeftBehind)
    return Effect.callback<AttemptResult.AttemptResult>((resume) => {
      const tell = (ended: Reading) =>
        resume(Effect.match(ended, {
          onSuccess: () => resultOf(incoming),
          onFailure: (error) => Cause.isDone(error) ? resultOf(incoming) : failed(error, incoming)
        }))
      const fiber = Detached.start(reading, here)
      const exit = fiber.pollUnsafe()
      if (exit === undefined) {
        return Leavable.awaiting(fiber, tell, tell, onLeftBehind, () => TimeLimit.of(incoming, patience))
      }
      if (exit._tag === "Success") resume(Effect.succeed(resultOf(incoming)))
      else tell(exit)
    })
  })

type Reading = Effect.Effect<void, RunError.ModelError | Cause.Done<unknown>>

/** Reads an answer up to its finish, and closes its stream. */
const read = (
  stream: ReturnType<Model.Model["Service"]["stream"]>,
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
  if (finish === undefined) return failed(AttemptResult.truncated, incoming)
  if (finish.reason === "error") return failed(AttemptResult.gaveUp, incoming)
  const content = collector.content()
  const tooLarge = TooLarge.of("the model's answer", content)
  if (tooLarge !== undefined) return failed(tooLarge, incoming)
  return {
    _tag: "Settled",
    content,
    finishReason: finish.reason,
    usage: finish.usage,
    response: collector.response,
    firstPart: firstPartAt - startedAt,
    duration: now - startedAt
  }
}

const failed = (error: AttemptResult.Failed["error"], incoming: Incoming): AttemptResult.Failed => {
  incoming.end()
  return {
    _tag: "Failed",
    error,
    usage: incoming.collector.used,
    duration: incoming.now() - incoming.startedAt
  }
}
