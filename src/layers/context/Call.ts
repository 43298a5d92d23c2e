/**
 * One call of a model on behalf of a strategy: returns its result as data, within the time that `Timeouts` allow a call. Notes
 * what it spends, whatever the result.
 *
 * Does not own whether the answer counts, nor whether to try again (`Ask`).
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import * as AttemptResult from "../../run/AttemptResult.ts"
import * as Message from "../../run/Message.ts"
import * as RunError from "../../run/RunError.ts"
import type * as RunEvent from "../../run/RunEvent.ts"
import * as RunPolicy from "../../run/RunPolicy.ts"
import * as Rewrite from "../../run/transcript/Rewrite.ts"
import * as Usage from "../../run/Usage.ts"
import type * as ContextManager from "../../services/ContextManager.ts"
import * as Leavable from "../../services/fibers/Leavable.ts"
import * as Stopwatch from "../../services/fibers/Stopwatch.ts"
import * as LeaveBehind from "../../services/LeaveBehind.ts"
import * as Model from "../../services/Model.ts"
import * as ObserveCall from "../../services/ObserveCall.ts"
import * as Timeouts from "../../services/Timeouts.ts"

type Service = Model.Model["Service"]
export type Question = Pick<Model.ModelRequest, "messages" | "metadata" | "output">

/** `content` is the answer's text. */
export type Called = AttemptResult.Settled | AttemptResult.Failed & { readonly error: RunError.ModelError }

/** Visible to `ObserveCall`, as every strategy's call is. */
export const make = (
  model: Service,
  { messages, metadata, output }: Question,
  ledger: ContextManager.Ledger
): Effect.Effect<Called> => {
  const request: Model.ModelRequest = {
    // what was said may hold anything, and so may what models answered
    messages: Rewrite.legal(messages, []),
    tools: [],
    toolChoice: "none",
    ...(output === undefined ? {} : { output }),
    metadata
  }
  return Effect.flatMap(
    ObserveCall.ObserveCall,
    (observe) => observe(model.info, request, read(model, request, ledger))
  )
}

const read = Effect.fnUntraced(function*(
  model: Service,
  request: Model.ModelRequest,
  ledger: ContextManager.Ledger
): Effect.fn.Return<Called> {
  const timeouts = yield* Timeouts.Timeouts
  const limit = Duration.fromInputUnsafe(timeouts.call ?? RunPolicy.defaultTimeouts.call)
  const elapsed = Stopwatch.start(yield* Clock.Clock)
  let text = ""
  let firstPart: number | undefined
  let finish: RunEvent.FinishReason | undefined
  let response: AttemptResult.Response | undefined
  let usage = Usage.zero
  const note = () => ledger.note(usage, Model.refOf(model.info))
  const take = (part: Model.ModelPart): void => {
    if (part.type === "response") {
      if (part.id !== undefined || part.model !== undefined) response = part
      // counts where no finish comes
      if (part.usage !== undefined) usage = Usage.counted(part.usage)
      return
    }
    firstPart ??= elapsed()
    if (part.type === "text-delta") text += part.delta
    if (part.type !== "finish") return
    finish = part.reason
    usage = Usage.counted(part.usage)
    note()
  }
  const reading = model.stream(request).pipe(
    Stream.takeUntil(({ type }) => type === "finish"),
    Stream.runForEachArray((parts) => Effect.sync(() => parts.forEach(take)))
  )
  const leave = Effect.flatMap(LeaveBehind.LeaveBehind, (leave) => leave(`model ${model.info.name}`))
  // an answer that has finished counts, even if its stream cannot be closed in time
  const late = () => finish === undefined ? Effect.fail(timedOut(limit)) : Effect.void
  const ended = yield* Effect.result(Effect.ensuring(
    Leavable.run(reading, leave, () => ({ millis: Duration.toMillis(limit), over: () => late })),
    Effect.sync(() => finish === undefined && note())
  ))
  const duration = elapsed()
  const failed = (error: RunError.ModelError): Called => ({ _tag: "Failed", error, usage, duration })
  if (Result.isFailure(ended)) return failed(ended.failure)
  if (finish === undefined) return failed(AttemptResult.truncated)
  if (finish === "error") return failed(AttemptResult.gaveUp)
  const content = text === "" ? [] : [Message.text(text)]
  return { _tag: "Settled", content, finishReason: finish, usage, response, firstPart: firstPart ?? duration, duration }
})

const timedOut = (call: Duration.Duration) =>
  new RunError.RetryableError<RunError.ProviderReason>({
    _tag: "TimedOut",
    scope: "call",
    message: `the model took longer than ${Duration.format(call)}, the limit of timeouts.call`
  })
