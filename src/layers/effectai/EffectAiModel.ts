/**
 * Calls an effect/ai `LanguageModel`: puts the request in its terms, and its parts and errors in ours. An error inside the
 * stream counts as a failure of it. Does not own what an error means to the loop (`ModelErrors`), nor how messages are converted
 * (`PromptMessages`).
 */
import type * as AiError from "effect/ai/AiError"
import * as LanguageModel from "effect/ai/LanguageModel"
import * as AiModel from "effect/ai/Model"
import type * as Tool from "effect/ai/Tool"
import type * as Toolkit from "effect/ai/Toolkit"
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Channel from "effect/Channel"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as InputCheck from "../../run/InputCheck.ts"
import type * as RunError from "../../run/RunError.ts"
import * as Tracing from "../../services/fibers/Tracing.ts"
import type * as Model from "../../services/Model.ts"
import { RecordContent } from "../../services/RecordContent.ts"
import * as ModelErrors from "../ModelErrors.ts"
import type { Options } from "../ModelLanguageModel.ts"
import * as OptionCheck from "../options/OptionCheck.ts"
import { OutputSchema } from "../provider/OutputSchema.ts"
import * as QuietEnd from "../provider/QuietEnd.ts"
import * as AnswerParts from "./AnswerParts.ts"
import * as GrowingPrompt from "./GrowingPrompt.ts"
import * as ProviderTools from "./ProviderTools.ts"

const optionNames: Record<keyof Options, true> = { provider: true, name: true, contextWindow: true, maxOutput: true }

/** The `LanguageModel` in the builder's context, as a `Model`. */
export const make = Effect.fnUntraced(function*(
  options: Options
): Effect.fn.Return<Model.Model["Service"], never, LanguageModel.LanguageModel> {
  OptionCheck.options("ModelLanguageModel", options, optionNames)
  const model = yield* LanguageModel.LanguageModel
  const provider = yield* Effect.serviceOption(AiModel.ProviderName)
  const name = yield* Effect.serviceOption(AiModel.ModelName)
  const { contextWindow, maxOutput } = options
  OptionCheck.taken(InputCheck.text("provider", options.provider))
  OptionCheck.taken(InputCheck.text("name", options.name))
  OptionCheck.atLeast("contextWindow", contextWindow, 1)
  OptionCheck.atLeast("maxOutput", maxOutput, 1)
  const info: Model.ModelInfo = {
    provider: options.provider ?? Option.getOrElse(provider, () => "effect/ai"),
    name: options.name ?? Option.getOrElse(name, () => "unknown"),
    ...(contextWindow === undefined ? {} : { contextWindow }),
    ...(maxOutput === undefined ? {} : { maxOutput })
  }
  const promptOf = GrowingPrompt.make()
  return {
    info,
    stream: (request) => {
      const parts = model.streamText({
        prompt: promptOf(request.messages),
        toolkit: toolkitOf(request.tools),
        toolChoice: request.toolChoice as LanguageModel.ToolChoice<never>,
        disableToolCallResolution: true,
        toolCallValidation: "deferred"
      })
      const answer = Stream.transformPull(parts, (pull) => Effect.succeed(Effect.matchCauseEffect(pull, answered)))
      return asking(request.output, answer)
    }
  }
})

/** Tools to describe, not to run: resolution is off, so neither handlers nor schema services are needed. */
const toolkitOf = (tools: ReadonlyArray<Tool.Any>): Toolkit.WithHandler<{}> => ({
  tools: Object.fromEntries(tools.map((tool) => [tool.name, ProviderTools.open(tool)])),
  handle: () => Effect.die(new Error("fiberloop: tools are run by the loop, never by the model"))
})

/**
 * Provides the schema that the answer has to fit, at no cost per part where it is the one provided already, as it mostly is.
 * effect/ai's span of the call ends with the scope of its stream, so the stream gets its own scope, which ends without an
 * error's words.
 */
const asking = <A, E>(output: Model.Output | undefined, self: Stream.Stream<A, E>): Stream.Stream<A, E> =>
  Stream.fromChannel(Channel.fromTransform((upstream, scope) =>
    Effect.withFiber((fiber) => {
      const asked = fiber.getRef(OutputSchema) === output ? self : Stream.provideService(self, OutputSchema, output)
      const open = Channel.toTransform(Stream.toChannel(asked))
      if (!Tracing.isSeen(fiber) || fiber.getRef(RecordContent)) return open(upstream, scope)
      const own = Scope.makeUnsafe()
      const close = Scope.addFinalizerExit(scope, (exit) => Scope.close(own, QuietEnd.of(exit)))
      return Effect.andThen(close, open(upstream, own))
    })
  ))

const toParts = (
  parts: Arr.NonEmptyReadonlyArray<AnswerParts.StreamPart>
): Effect.Effect<Arr.NonEmptyReadonlyArray<Model.ModelPart>, RunError.ModelError> => {
  for (let at = 0; at < parts.length; at++) {
    const part = parts[at]!
    if (part.type === "error") return atNow((now) => Effect.fail(ModelErrors.fromPart(part.error, now)))
    // an answer is whole with its finish: a failure after it does not count, even in the same array
    if (part.type === "finish") return Effect.succeed(Arr.map(upTo(parts, at), AnswerParts.fromPart))
  }
  return Effect.succeed(Arr.map(parts, AnswerParts.fromPart))
}

const upTo = <A>(all: Arr.NonEmptyReadonlyArray<A>, at: number): Arr.NonEmptyReadonlyArray<A> =>
  at === all.length - 1 ? all : all.slice(0, at + 1) as unknown as Arr.NonEmptyReadonlyArray<A>

/** Handles what a pull returned: parts, the end, or a failure. */
const answered = {
  onSuccess: toParts,
  onFailure: (cause: Cause.Cause<AiError.AiError | Cause.Done>) =>
    atNow((now) =>
      Effect.failCause(Cause.map(cause, (error) => Cause.isDone(error) ? error : ModelErrors.fromAiError(error, now)))
    )
}

/** Asks the clock for what an error says of times. */
const atNow = <A, E>(use: (now: number) => Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.withFiber((fiber) => use(fiber.getRef(Clock.Clock).currentTimeMillisUnsafe()))
