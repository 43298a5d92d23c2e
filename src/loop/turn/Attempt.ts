/**
 * One try at a model call: what came back, as data. Shows the deltas as they come, holds the time limits, and stops
 * reading at the finish, although the provider may keep its socket open.
 *
 * Does not own whether there is another try; that is `ModelCall`.
 */
import * as Arr from "effect/Array"
import * as Channel from "effect/Channel"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Pull from "effect/Pull"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Bounds from "../../run/log/Bounds.ts"
import type * as Message from "../../run/Message.ts"
import * as RunError from "../../run/RunError.ts"
import type * as RunEvent from "../../run/RunEvent.ts"
import type * as RunPolicy from "../../run/RunPolicy.ts"
import * as Usage from "../../run/Usage.ts"
import * as Grace from "../../services/Grace.ts"
import type * as Model from "../../services/Model.ts"
import * as SessionStore from "../../services/SessionStore.ts"
import type * as Journal from "../log/Journal.ts"
import { Collector } from "./Collector.ts"

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

/** Times of the attempt under way, in milliseconds on the journal's clock. */
interface Watch {
  readonly startedAt: number
  firstPartAt: number | undefined
  /** when the wait for the next part began; none while parts come without one */
  lastPartAt: number | undefined
}

/** How many deltas are shown before readers run: half of what they buffer, so that a source that never waits fills none. */
const mostUnread = 512

export const run = (
  model: Model.Model["Service"],
  request: Model.ModelRequest,
  journal: Journal.Journal,
  timeouts: RunPolicy.Timeouts,
  onLeak: Effect.Effect<void>
): Effect.Effect<Settled | Failed> =>
  // others go first: a call that they abort by then is not made
  Effect.flatMap(Effect.yieldNow, () => {
    const { attempt, runId, turn } = request.metadata
    const collector = new Collector(runId, turn, attempt)
    const startedAt = journal.now()
    const watch: Watch = { startedAt, firstPartAt: undefined, lastPartAt: startedAt }

    /** parts come one after the other, without a wait */
    let isBurst = false
    let deltas: Array<RunEvent.Delta> = []
    let unread = 0

    const show = () => {
      if (!Arr.isReadonlyArrayNonEmpty(deltas)) return
      unread += deltas.length
      journal.emitDeltas(deltas)
      deltas = []
    }
    const endBurst = () => {
      isBurst = false
      show()
      watch.lastPartAt ??= journal.now()
    }

    const take = (parts: ReadonlyArray<Model.ModelPart>) => {
      if (!isBurst) {
        isBurst = true
        // behind all that comes without a wait: its deltas are shown as one array, and the clock is looked at once
        queueMicrotask(endBurst)
      }
      if (watch.lastPartAt !== undefined && parts.some(isProgress)) {
        watch.lastPartAt = undefined
        if (watch.firstPartAt === undefined) {
          watch.firstPartAt = journal.now()
          journal.move("partsArrive")
        }
      }
      collector.push(parts, deltas)
    }

    const letReadersIn = Effect.suspend(() => {
      show()
      unread = 0
      return Effect.yieldNow
    })

    const isOpen = () => collector.finish === undefined
    const scope = Scope.makeUnsafe()
    const pulled = Effect.flatMap(
      Channel.toPullScoped(Stream.toChannel(model.stream(request)), scope),
      (pull) =>
        Effect.whileLoop({
          while: isOpen,
          body: () => unread + deltas.length < mostUnread ? pull : Effect.andThen(letReadersIn, pull),
          step: take
        })
    )
    // an answer that is there does not wait for a stream that does not let itself be closed
    const consumed = Effect.onExitPrimitive(Pull.catchDone(pulled, () => Effect.void), (exit) => {
      show()
      const closing = Grace.closing(scope, exit)
      return closing && Effect.flatMap(closing, (isClosed) => isClosed ? Effect.void : onLeak)
    })

    return Effect.match(Grace.severed(consumed, onLeak, () => limitOf(watch, journal, timeouts, isOpen)), {
      onSuccess: () => settle(collector, watch, journal.now()),
      onFailure: (error) => failed(error, collector, journal.now() - startedAt)
    })
  })

const settle = (collector: Collector, watch: Watch, now: number): Settled | Failed => {
  const { finish } = collector
  const duration = now - watch.startedAt
  if (finish === undefined) {
    return failed(
      new RunError.RetryableError({ _tag: "StreamTruncated", message: "the model's answer ended before its finish" }),
      collector,
      duration
    )
  }
  if (finish.reason === "error") {
    return failed(
      new RunError.NonRetryableError({ _tag: "Unknown", message: "the provider ended the answer with an error" }),
      collector,
      duration
    )
  }
  const content = collector.content()
  const bytes = Bounds.above(content, SessionStore.maxContentBytes)
  if (bytes !== undefined) {
    return failed(RunError.tooLarge("the model's answer", bytes, SessionStore.maxContentBytes), collector, duration)
  }
  return {
    _tag: "Settled",
    content,
    finishReason: finish.reason,
    usage: finish.usage,
    response: collector.response,
    firstPart: (watch.firstPartAt ?? now) - watch.startedAt,
    duration
  }
}

const failed = (error: Failed["error"], collector: Collector, duration: number): Failed => ({
  _tag: "Failed",
  error,
  usage: collector.finish?.usage ?? Usage.zero,
  duration
})

/** A part that brings the answer on: what says that somebody is there, and no more, holds off no time limit. */
const isProgress = (part: Model.ModelPart): boolean => {
  switch (part.type) {
    case "response":
      return false
    case "block-start":
    case "block-end":
      return part.metadata !== undefined
    case "text-delta":
    case "reasoning-delta":
      return part.delta !== "" || part.metadata !== undefined
    case "tool-params-delta":
      return part.delta !== "" || part.tool !== undefined
    default:
      return true
  }
}

/** Fails when the whole call, the first part or the gap between two parts takes too long. */
const limitOf = (
  watch: Watch,
  journal: Journal.Journal,
  timeouts: RunPolicy.Timeouts,
  isOpen: () => boolean
): Grace.Limit<never, RunError.ModelError> => {
  const call = Duration.toMillis(timeouts.call)
  const firstPart = Duration.toMillis(timeouts.firstPart)
  const gap = Duration.toMillis(timeouts.gap)
  const over = () => {
    const now = journal.now()
    const scope = watch.firstPartAt === undefined ? "firstPart" as const : "gap" as const
    const limit = scope === "firstPart" ? firstPart : gap
    const left = limit - (now - (watch.lastPartAt ?? now))
    const callLeft = call - (now - watch.startedAt)
    if (!isOpen()) return Infinity
    if (callLeft <= 0) return () => Effect.fail(timedOut("call", call))
    if (left <= 0) return () => Effect.fail(timedOut(scope, limit))
    return Math.min(left, callLeft)
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
