/**
 * Models named after their provider (`anthropic/claude-...`), called through its package of the Vercel AI SDK, which is loaded
 * only then and need not be installed otherwise.
 *
 * A server of `OPENAI_BASE_URL` may have models with such names too (OpenRouter): without the provider's key, the server is asked.
 */
import type { LanguageModelV4 } from "@ai-sdk/provider"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type * as Message from "../../run/Message.ts"
import type * as Model from "../../services/Model.ts"
import * as Flags from "../Flags.ts"
import { badInput, type Refusal } from "../Refusal.ts"

type Create = (
  settings: { readonly apiKey: string; readonly baseURL?: string; readonly fetch: typeof globalThis.fetch }
) => (id: string) => LanguageModelV4

/** By itself, `fetch` follows redirects, with another method, and takes the key along. */
const fetch: typeof globalThis.fetch = (input, init) => globalThis.fetch(input, { ...init, redirect: "manual" })

interface Provider {
  /** the SDK's name for the provider, which sessions keep */
  readonly name: string
  readonly package: string
  /** the settings that hold the key and the address, and a default address */
  readonly key: string
  readonly baseUrl: string
  readonly example: string
  /** how calls are marked, for models that cache nothing without marks */
  readonly cache?: "ephemeral"
  /** `undefined` where the package is of another version */
  readonly load: () => Promise<Create | undefined>
}

const providers: Readonly<Record<string, Provider>> = {
  anthropic: {
    name: "anthropic.messages",
    package: "@ai-sdk/anthropic",
    key: "ANTHROPIC_API_KEY",
    baseUrl: "ANTHROPIC_BASE_URL",
    example: "https://api.anthropic.com/v1",
    cache: "ephemeral",
    load: async () => (await import("@ai-sdk/anthropic")).createAnthropic
  },
  google: {
    name: "google.generative-ai",
    package: "@ai-sdk/google",
    key: "GOOGLE_GENERATIVE_AI_API_KEY",
    baseUrl: "GOOGLE_GENERATIVE_AI_BASE_URL",
    example: "https://generativelanguage.googleapis.com/v1beta",
    load: async () => (await import("@ai-sdk/google")).createGoogle
  }
}

/** A model of a provider here, with what the environment says of it. */
export interface Named {
  readonly name: string
  readonly provider: Provider
  readonly id: string
  readonly apiKey: string | undefined
}

/** What a name means, if it names a provider here. */
export const find = Effect.fnUntraced(function*(name: string): Effect.fn.Return<Named | undefined> {
  const [, prefix = "", id = ""] = /^([a-z]+)\/(.+)$/.exec(name) ?? []
  const provider = Object.hasOwn(providers, prefix) ? providers[prefix] : undefined
  if (provider === undefined) return undefined
  const apiKey = yield* Flags.environment(provider.key)
  const isServers = apiKey === undefined && (yield* Flags.environment("OPENAI_BASE_URL")) !== undefined
  return isServers ? undefined : { name, provider, id, apiKey }
})

/**
 * How a name has to be given for the provider here that it means, if it is not given so: `Anthropic/x`, or `anthropic` alone. A server
 * of `OPENAI_BASE_URL` may have models with such names.
 */
export const respelt = Effect.fnUntraced(function*(name: string): Effect.fn.Return<string | undefined> {
  const [, word = "", id = "<name>"] = /^([a-z]+)(?:\/(.+))?$/i.exec(name) ?? []
  const prefix = word.toLowerCase()
  const isServers = (yield* Flags.environment("OPENAI_BASE_URL")) !== undefined
  return !isServers && Object.hasOwn(providers, prefix) ? `${prefix}/${id}` : undefined
})

/** What a provider here is called by in names of models, and where its key is set. */
export const knownAs = (provider: string): { readonly prefix: string; readonly key: string } | undefined => {
  const found = Object.entries(providers).find(([, { name }]) => name === provider)
  return found === undefined ? undefined : { prefix: found[0], key: found[1].key }
}

/** The name, as `find` reads it, of a model that answered in a session. */
export const nameOf = ({ name, provider }: Message.ModelRef): string | undefined => {
  const known = knownAs(provider)
  return known === undefined ? undefined : `${known.prefix}/${name}`
}

const install = (provider: Provider): string => `npm install ${provider.package}@4`

const load = ({ name, provider }: Named): Effect.Effect<Create, Refusal> =>
  Effect.tryPromise({
    try: provider.load,
    catch: (cause) =>
      badInput(
        (cause as NodeJS.ErrnoException).code === "ERR_MODULE_NOT_FOUND"
          ? `the model ${JSON.stringify(name)} needs a package that is not installed: ${install(provider)}`
          : `${provider.package} cannot be loaded (${String(cause)})`
      )
  }).pipe(Effect.filterOrFail(
    (create) => create !== undefined,
    () => badInput(`${provider.package} is installed in a version that does not fit: ${install(provider)}`)
  ))

const address = Effect.fnUntraced(
  function*({ baseUrl, example }: Provider): Effect.fn.Return<string | undefined, Refusal> {
    const value = yield* Flags.environment(baseUrl)
    const url = value === undefined ? undefined : URL.parse(value)
    if (url === undefined) return undefined
    if (url === null || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "") {
      return yield* badInput(`${baseUrl} is not an http(s) URL without a password: set one such as ${example}`)
    }
    return value
  }
)

/** The model. Fails when its package, its key or a usable address is missing. */
export const layer = Effect.fnUntraced(function*(
  named: Named,
  sizes: Pick<Model.ModelInfo, "contextWindow">,
  keyless: (key: string) => Refusal
): Effect.fn.Return<Layer.Layer<Model.Model>, Refusal> {
  const { apiKey, id, provider } = named
  const create = yield* load(named)
  if (apiKey === undefined) return yield* keyless(provider.key)
  if (!/^[\x21-\x7e]+$/.test(apiKey)) {
    return yield* badInput(
      `${provider.key} holds characters that no header can carry: check it for spaces, line breaks and quotes`
    )
  }
  const baseURL = yield* address(provider)
  const model = create({ apiKey, fetch, ...(baseURL === undefined ? {} : { baseURL }) })(id)
  const { layer } = yield* Effect.promise(() => import("../../layers/ModelAiSdk.ts"))
  return layer({ ...sizes, model, key: provider.key, cache: provider.cache })
})
