/**
 * One try at a model call: what came back, as data. Holds the time limits, and closes the stream, or leaves behind what does
 * not let itself be closed.
 *
 * Does not own what comes in meanwhile (`Incoming`), nor whether there is another try; that is `Tries`.
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
import type * as Message from "../../run/Message.ts"
import * as RunError from "../../run/RunError.ts"
import type * as RunEvent from "../../run/RunEvent.ts"
import * as Usage from "../../run/Usage.ts"
import * as Detached from "../../services/Detached.ts"
import * as Grace from "../../services/Grace.ts"
import type * as Model from "../../services/Model.ts"
import * as Severing from "../../services/Severing.ts"
import type * as Patience from "../env/Patience.ts"
import type * as Journal from "../log/Journal.ts"
import * as TooLarge from "../log/TooLarge.ts"
import type { Collector } from "./Collector.ts"
import { Incoming } from "./Incoming.ts"

export interface Settled {
  readonly _tag: "Settled"
  readonly content: ReadonlyArray<Message.AssistantPart>
  readonly finishReason: RunEvent.FinishReason
  readonly usage: Usage.Usage
  readonly response: Collector["response"]
  /** milliseconds from the request to the first part, and to the end */
  readonly firstPart: number
  readonly duration: number
}

export interface Failed {
  readonly _tag: "Failed"
  readonly error: RunError.ModelError | RunError.NonRetryableError<typeof RunError.EventTooLarge.Type>
  readonly usage: Usage.Usage
  /** milliseconds */
  readonly duration: number
}

export const run = (
  model: Model.Model["Service"],
  request: Model.ModelRequest,
  journal: Journal.Journal,
  patience: Patience.Patience,
  onLeak: Effect.Effect<void>
): Effect.Effect<Settled | Failed> =>
  // others go first: a call that they abort by then is not made
  Effect.flatMap(Effect.yieldNow, () => {
    const incoming = new Incoming(request.metadata, journal, Context.get(Detached.contextHere(), Clock.Clock))
    const scope = Scope.makeUnsafe()
    const pulled = Effect.flatMap(
      Channel.toPullScoped(Stream.toChannel(model.stream(request)), scope),
      (pull) => incoming.read(pull)
    )
    // an answer that is there does not wait for a stream that does not let itself be closed
    const consumed = Effect.onExitPrimitive(pulled, (exit) => {
      incoming.show()
      const closing = Grace.closing(scope, endOf(exit))
      return closing && Effect.flatMap(closing, (isClosed) => isClosed ? Effect.void : onLeak)
    })
    return Effect.callback<Settled | Failed>((resume) => {
      const tell = (exit: Effect.Effect<void, RunError.ModelError | Cause.Done<unknown>>) =>
        resume(Effect.match(exit, {
          onSuccess: () => settle(incoming),
          onFailure: (error) => Cause.isDone(error) ? settle(incoming) : failed(error, incoming)
        }))
      const fiber = Detached.start(consumed, Detached.contextHere())
      const exit = fiber.pollUnsafe()
      if (exit === undefined) {
        return Severing.awaiting(fiber, tell, tell, onLeak, () => limitOf(incoming, patience))
      }
      if (exit._tag === "Success") resume(Effect.succeed(settle(incoming)))
      else tell(exit)
    })
  })

/** That a stream ended is no failure of it. */
const endOf = (exit: Exit.Exit<void, unknown>): Exit.Exit<void, unknown> =>
  exit._tag === "Failure" && Pull.isDoneCause(exit.cause) ? Exit.asVoid(Pull.doneExitFromCause(exit.cause)) : exit

const settle = (incoming: Incoming): Settled | Failed => {
  const now = incoming.now()
  const { collector, firstPartAt = now, startedAt } = incoming
  const { finish } = collector
  if (finish === undefined) {
    return failed(
      new RunError.RetryableError({ _tag: "StreamTruncated", message: "the model's answer ended before its finish" }),
      incoming
    )
  }
  if (finish.reason === "error") {
    return failed(
      new RunError.NonRetryableError({ _tag: "Unknown", message: "the provider ended the answer with an error" }),
      incoming
    )
  }
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

const failed = (error: Failed["error"], incoming: Incoming): Failed => ({
  _tag: "Failed",
  error,
  usage: incoming.collector.finish?.usage ?? Usage.zero,
  duration: incoming.now() - incoming.startedAt
})

/** Milliseconds between two looks at a gap that has not begun; a shorter one is not worth looking more often. */
const shortestWait = 100

/** Fails when the whole call, the first part or the gap between two parts takes too long. */
const limitOf = (
  incoming: Incoming,
  { call, firstPart, gap }: Patience.Patience
): Severing.Limit<never, RunError.ModelError> => {
  const over = () => {
    const { collector, firstPartAt, lastPartAt, startedAt } = incoming
    const at = incoming.now()
    const scope = firstPartAt === undefined ? "firstPart" as const : "gap" as const
    const limit = scope === "firstPart" ? firstPart : gap
    const left = limit - (at - (lastPartAt ?? at))
    const callLeft = call - (at - startedAt)
    if (collector.finish !== undefined) return Infinity
    if (callLeft <= 0) return () => Effect.fail(timedOut("call", call))
    if (left <= 0) return () => Effect.fail(timedOut(scope, limit))
    // the gap that begins with the first part has no other moment at which it is looked at
    return Math.min(left, callLeft, Math.max(gap, shortestWait))
  }
  return { millis: Math.min(firstPart, gap, call), over }
}

const scopes = {
  call: "the whole answer",
  firstPart: "the first part of the answer",
  gap: "the next part of the answer"
}

const timedOut = (scope: keyof typeof scopes, limit: number) =>
  new RunError.RetryableError({
    _tag: "TimedOut" as const,
    scope,
    message: `the model took more than ${limit} ms for ${scopes[scope]}`
  })
