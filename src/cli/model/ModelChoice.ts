/** Chooses the model that answers, and loads only that one. */
import type * as Config from "effect/Config"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type * as Model from "../../services/Model.ts"
import * as ErrorWords from "../ErrorWords.ts"
import { badInput, type Refusal } from "../Refusal.ts"
import type { Settings } from "../Settings.ts"
import * as AiSdkModels from "./AiSdkModels.ts"

/** The name of the built-in model. */
const offline = "offline"

/** Whether a name, or none, means the built-in model. */
export const isOffline = (name: string | undefined): name is undefined | typeof offline =>
  name === undefined || name === offline

type Chosen = Pick<Settings, "model" | "isModelOfSession">
type Sizes = Pick<Model.ModelInfo, "contextWindow">

/** The model of that name; the offline one when none is named. */
export const build = (
  { contextWindow, isModelOfSession, model: name }: Chosen & Pick<Settings, "contextWindow">
): Effect.Effect<Context.Context<Model.Model>, Refusal, Scope.Scope> => {
  const sizes: Sizes = contextWindow === undefined ? {} : { contextWindow }
  return isOffline(name)
    ? Effect.flatMap(
      Effect.promise(() => import("../offline/OfflineModel.ts")),
      ({ layerWith }) => Layer.build(layerWith(sizes))
    )
    : Effect.flatMap(AiSdkModels.find(name), (named) =>
      named === undefined
        ? openAi(name, sizes, isModelOfSession)
        : Effect.flatMap(
          AiSdkModels.layer(named, sizes, (key) => keyless(name, `set ${key}`, isModelOfSession)),
          Layer.build
        ))
}

const openAi = Effect.fnUntraced(function*(name: string, sizes: Sizes, isModelOfSession: boolean) {
  const meant = yield* AiSdkModels.respelt(name)
  if (meant !== undefined) return yield* badInput(`${JSON.stringify(name)} names no model: give --model ${meant}`)
  const { layer } = yield* Effect.promise(() => import("../../layers/ModelOpenAi.ts"))
  return yield* Effect.mapError(
    Layer.build(layer({ ...sizes, model: name })),
    (error) => unusable(name, error, isModelOfSession)
  )
})

/**
 * `set` says what to set, in the words of the command's user. Without `--model`, the model of the environment or of the session
 * answers before the offline one.
 */
const keyless = (name: string, set: string, isModelOfSession: boolean): Refusal =>
  badInput(
    `the model ${JSON.stringify(name)}${isModelOfSession ? ", which answered in this session," : ""} needs a key: ` +
      `${set}, or give --model ${offline} for the offline model`
  )

const unusable = (name: string, error: Config.ConfigError, isModelOfSession: boolean): Refusal => {
  const { message } = error.cause
  if (/needs an API key/.test(message)) return keyless(name, setOpenAi, isModelOfSession)
  return badInput(
    /not an http/.test(message)
      ? "OPENAI_BASE_URL is not an http(s) URL: set one such as https://api.openai.com/v1 or http://localhost:11434/v1"
      : message
  )
}

const setOpenAi =
  "set OPENAI_API_KEY, or OPENAI_BASE_URL for a server that needs none (Ollama: http://localhost:11434/v1)"

/** Said when nobody named a model: which one answers. */
export const notices = ({ isModelOfSession, model }: Chosen): ReadonlyArray<string> =>
  model === undefined
    ? [notice]
    : isModelOfSession
    ? [ErrorWords.line(`no model is named, so ${JSON.stringify(model)} answers, as it did in this session`)]
    : []

const notice =
  "fiberloop: no model is named, so the built-in offline model answers; for a real one set OPENAI_API_KEY and give --model " +
  "or set FIBERLOOP_MODEL (see fiberloop run --help)"
