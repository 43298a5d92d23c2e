/**
 * The model that a kept session used last, which answers there again when nobody names one. Does not own what that model
 * needs (`ModelChoice.ts`).
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type * as Message from "../../run/Message.ts"
import * as ErrorWords from "../ErrorWords.ts"
import * as Flags from "../Flags.ts"
import { badInput, type Refusal } from "../Refusal.ts"
import type { Kept } from "../session/KeptSession.ts"
import type { Settings } from "../Settings.ts"
import * as AiSdkModels from "./AiSdkModels.ts"

/** The flags that name a model; none for the built-in one and those of other programs. */
export const flags = (model: Message.ModelRef): ReadonlyArray<string> => {
  const name = nameOf(model)
  return name === undefined ? [] : ["--model", name]
}

const server = "openai-compatible"

const nameOf = (model: Message.ModelRef): string | undefined =>
  model.provider === server ? model.name : AiSdkModels.nameOf(model)

/** So many events are read at once, from the end of the log. */
const page = 200

/** The model that was asked last, in whichever run; `undefined` before the first turn. */
export const last = Effect.fnUntraced(function*(
  { info, store }: Kept
): Effect.fn.Return<Message.ModelRef | undefined, Refusal> {
  for (let to = info.head; to > 0; to -= page) {
    const turn = yield* store.read(info.sessionId, { from: Math.max(1, to - page + 1), to }).pipe(
      Stream.filter((event) => event._tag === "TurnStarted"),
      Stream.runLast,
      Effect.mapError(ErrorWords.refusal)
    )
    if (Option.isSome(turn)) return turn.value.model
  }
  return undefined
})

/** The flags that name the model of this session. */
export const flagsOf = (kept: Kept): Effect.Effect<ReadonlyArray<string>, Refusal> =>
  Effect.map(last(kept), (model) => model === undefined ? [] : flags(model))

/**
 * The settings to go on with this session: unchanged where they name a model, else with the session's model. Refused where the
 * environment has changed so that its name means another provider's: nobody has chosen to send that one the conversation.
 */
export const adopt = Effect.fnUntraced(function*(settings: Settings, kept: Kept): Effect.fn.Return<Settings, Refusal> {
  if (settings.model !== undefined) return settings
  const model = yield* last(kept)
  const name = model === undefined ? undefined : nameOf(model)
  if (model === undefined || name === undefined) return settings
  const found = yield* AiSdkModels.find(name)
  if ((found?.provider.name ?? server) !== model.provider) {
    const hasServer = (yield* Flags.environment("OPENAI_BASE_URL")) !== undefined
    return yield* otherProvider(kept, name, model.provider, found, hasServer)
  }
  return { ...settings, model: name, isModelOfSession: true, flags: [...settings.flags, "--model", name] }
})

const otherProvider = (
  { info: { sessionId } }: Kept,
  name: string,
  before: string,
  found: AiSdkModels.Named | undefined,
  hasServer: boolean
): Refusal => {
  const was = AiSdkModels.knownAs(before)
  const is = found === undefined ? undefined : AiSdkModels.knownAs(found.provider.name)
  const asked = (known: typeof was) =>
    known === undefined ? "an OpenAI-compatible server" : `the provider ${known.prefix}`
  const back = [
    ...(was === undefined ? hasServer ? [] : ["set OPENAI_BASE_URL"] : [`set ${was.key}`]),
    ...(found?.apiKey === undefined || was !== undefined ? [] : [`unset ${is?.key}`])
  ]
  return badInput(
    `in session ${JSON.stringify(sessionId)} the model ${JSON.stringify(name)} was asked of ${
      asked(was)
    }, and would be asked of ` +
      `${asked(is)} now: ${back.join(" and ")}, or choose with --model ${name}`
  )
}
