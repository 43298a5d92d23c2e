/**
 * Reads the stream of a call to its end.
 *
 *   part* ── finish that the provider gave ──▶ the finish, and the end
 *     ├──── finish that it did not | end of the stream ──▶ fails as truncated; without a part of JSON, as no stream
 *     ├──── error part, then for a moment a finish, which has the usage ──▶ fails
 *     └──── broken stream ──▶ fails
 *
 * Owns when a call is over; what else comes after a finish or an error is not read. Does not own the request (`LanguageModelAiSdk`), nor what
 * the parts are (`StreamParts`).
 */
import type { LanguageModelV4FinishReason, LanguageModelV4StreamPart } from "@ai-sdk/provider"
import type * as AiError from "effect/ai/AiError"
import type * as Response from "effect/ai/Response"
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Pull from "effect/Pull"
import * as Stream from "effect/Stream"
import * as AdapterErrors from "../provider/AdapterErrors.ts"
import * as Closing from "../provider/Closing.ts"
import type { Origin } from "../provider/Origin.ts"
import * as ProviderExecuted from "../provider/ProviderExecuted.ts"
import * as UsedSoFar from "../provider/UsedSoFar.ts"
import * as Container from "./Container.ts"
import * as Failures from "./Failures.ts"
import * as Metadata from "./Metadata.ts"
import * as StreamParts from "./StreamParts.ts"

type Part = Response.StreamPartEncoded
type StreamStart = Extract<LanguageModelV4StreamPart, { type: "stream-start" }>
type Finish = Extract<LanguageModelV4StreamPart, { type: "finish" }>

interface Reader {
  /**
   * Fails with what the stream says went wrong, or with a part that nobody can read; parts read before that come first. Of what comes
   * after an error, a finish says what was used.
   */
  readonly read: (part: LanguageModelV4StreamPart, out: Array<Part>) => void
  readonly outcome: () => "finished" | Failures.Broken | undefined
  /** Why an answer that ends here is none. */
  readonly unfinished: () => AiError.AiError
  /** What the package has to say about the call. */
  readonly warnings: () => StreamStart["warnings"]
}

/**
 * Whether a provider's package made this finish up because its stream ended without one: it says so, or has nothing to say.
 * OpenAI's Responses API has no word for a complete answer, so there the kind alone makes a finish.
 */
const isMadeUp = ({ raw, unified }: LanguageModelV4FinishReason): boolean =>
  unified === "interrupted" || (unified === "other" && !raw)

/** JSON and no stream of it. A package that asked for a whole answer makes parts of it; others find no event in it. */
const isJson = /^application\/(problem\+)?json\b/i

const notAStream = (origin: Origin): AiError.AiError =>
  AdapterErrors.notTheApi(
    origin,
    "answered with application/json instead of an event stream, perhaps with an error; check the base URL, the key and the "
      + "account, and that the model can stream"
  )

/** Whether the next call goes on with the answer that ends so. */
const goesOn = (reason: Response.FinishReason): boolean => reason === "pause" || reason === "tool-calls"

/** Without the conversation, of which packages quote what they leave out. */
const quiet = (warnings: StreamStart["warnings"], caller: Failures.Caller): StreamStart["warnings"] => {
  const { redact } = Failures.originOf(caller)
  const told = warnings.map(({ type, ...said }) => ({
    type,
    ...Object.fromEntries(
      Object.entries(said).map(([name, words]) => [name, typeof words === "string" ? redact(words) : words])
    )
  }))
  return told as unknown as StreamStart["warnings"]
}

/** What an answer that does not count has used, where its provider says so. */
const used = ({ usage }: Finish, out: Array<Part>): void => {
  const counts = StreamParts.usage(usage ?? {})
  const isCounted = counts.inputTokens.total !== undefined || counts.outputTokens.total !== undefined
  if (isCounted) out.push(UsedSoFar.part(counts))
}

const makeReader = (caller: Failures.Caller, contentType: string, tools: ProviderExecuted.Tools): Reader => {
  const model = Metadata.nameOf(caller.model)
  let warnings: StreamStart["warnings"] = []
  let outcome: ReturnType<Reader["outcome"]>
  let hasBegun = false

  const unfinished = () => {
    const origin = Failures.originOf(caller)
    return !hasBegun && isJson.test(contentType) ? notAStream(origin) : AdapterErrors.truncated(origin)
  }

  const finish = (part: Finish, out: Array<Part>) => {
    const isCut = isMadeUp(part.finishReason)
    const reason = StreamParts.finishReason(part.finishReason)
    if (isCut || reason === "failed") {
      const error = isCut ? unfinished() : AdapterErrors.gaveUp(Failures.originOf(caller))
      outcome = new Failures.Broken("answer", error)
      used(part, out)
    } else {
      outcome = "finished"
      if (goesOn(reason)) out.push(...Container.kept(part.providerMetadata, model))
      out.push(StreamParts.finish(part, reason, model, warnings.length === 0 ? {} : { warnings }))
    }
  }

  const take = (part: LanguageModelV4StreamPart, out: Array<Part>) => {
    if (part.type === "error") outcome = new Failures.Broken("answer", part.error)
    else if (part.type === "finish") finish(part, out)
    else if (part.type === "stream-start") warnings = quiet(part.warnings ?? [], caller)
    else {
      hasBegun = true
      const read = StreamParts.fromPart(part, model)
      if (read === undefined) return
      out.push(ProviderExecuted.is(read, tools) ? ProviderExecuted.part(read) : read)
    }
  }

  return {
    read(part, out) {
      const isOver = outcome !== undefined
      try {
        if (!isOver) take(part, out)
        else if (outcome !== "finished" && part.type === "finish") used(part, out)
      } catch {
        if (!isOver) outcome = new Failures.Broken("answer", Failures.unreadable(Failures.originOf(caller)))
      }
    },
    outcome: () => outcome,
    unfinished,
    warnings: () => warnings
  }
}

const logWarnings = (warnings: StreamStart["warnings"], { model }: Failures.Caller): Effect.Effect<void> =>
  warnings.length === 0 ? Effect.void : Effect.logDebug(`${model.provider} warns`, ...warnings)

const pullFrom = (
  reader: ReadableStreamDefaultReader<LanguageModelV4StreamPart>
): Pull.Pull<LanguageModelV4StreamPart, Failures.Broken> =>
  Effect.flatMap(
    Effect.tryPromise({ try: () => reader.read(), catch: (cause) => new Failures.Broken("answer", cause) }),
    ({ done, value }) => done ? Cause.done() : Effect.succeed(value)
  )

/**
 * The parts of a stream of this content type, as they arrive; what the provider executed itself, where effect/ai could not read it, in
 * a form that it can (`ProviderExecuted`).
 */
export const parts = (
  given: ReadableStreamDefaultReader<LanguageModelV4StreamPart>,
  caller: Failures.Caller,
  contentType: string,
  tools: ProviderExecuted.Tools
): Stream.Stream<Part, Failures.Broken> => {
  const pull = pullFrom(given)
  const reader = makeReader(caller, contentType, tools)
  const rest = (out: Array<Part>) => Effect.map(pull, (part) => reader.read(part, out))
  const handOut = (out: ReadonlyArray<Part>) =>
    Effect.suspend(() => Arr.isReadonlyArrayNonEmpty(out) ? Effect.succeed(out) : next)
  const next: Pull.Pull<Arr.NonEmptyReadonlyArray<Part>, Failures.Broken> = Effect.suspend(() => {
    const outcome = reader.outcome()
    if (outcome === "finished") return Cause.done()
    if (outcome !== undefined) return Effect.fail(outcome)
    return Pull.matchEffect(pull, {
      onSuccess: (part) => {
        const out: Array<Part> = []
        reader.read(part, out)
        if (reader.outcome() !== undefined) return Effect.andThen(Closing.drain(rest(out)), handOut(out))
        return part.type === "stream-start"
          ? Effect.andThen(logWarnings(reader.warnings(), caller), next)
          : handOut(out)
      },
      onDone: () => Effect.fail(new Failures.Broken("answer", reader.unfinished())),
      onFailure: Effect.failCause
    })
  })
  return Stream.fromPull(Effect.succeed(next))
}
