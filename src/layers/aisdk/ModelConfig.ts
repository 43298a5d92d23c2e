/**
 * What a model of the AI SDK reveals of where it calls and with which key, so that messages can name the host and mask keys
 * and other headers that a provider echoes.
 *
 * A best effort: providers keep both in `config`, which the SDK does not promise. Headers that are made anew for each call
 * (signatures, tokens of a cloud) are not read.
 */
import type { LanguageModelV4 } from "@ai-sdk/provider"
import * as Echo from "../provider/Echo.ts"

interface Config {
  readonly baseURL?: unknown
  readonly baseUrl?: unknown
  readonly url?: unknown
  readonly headers?: unknown
}

const configOf = (model: LanguageModelV4): Config => (model as { readonly config?: Config }).config ?? {}

/** A setting, or, where it is a function, its result for `argument`. */
const valueOf = (setting: unknown, argument?: unknown): unknown => {
  try {
    return typeof setting === "function" ? setting(argument) : setting
  } catch {
    return undefined
  }
}

/** The address that calls go to, where it is known: the provider's, or that of this model under it. */
export const baseUrl = (model: LanguageModelV4): string | undefined => {
  const { baseURL, baseUrl, url } = configOf(model)
  const known = [baseURL, valueOf(baseUrl), valueOf(url, { path: "", modelId: model.modelId })]
  return known.find((value) => typeof value === "string")
}

/** The parts of an address that may be secret. */
const ofAddress = (model: LanguageModelV4): ReadonlyArray<string> => {
  const address = baseUrl(model)
  const url = address === undefined ? null : URL.parse(address)
  return url === null ? [] : [url.password, ...url.searchParams.values(), ...Echo.ofPath(url, model.modelId)]
}

const isText = (entry: [name: string, value: unknown]): entry is [string, string] => typeof entry[1] === "string"

/** What may be secret of what the model's provider was made with: in its headers, and in its address. */
export const secrets = (model: LanguageModelV4): ReadonlyArray<string> => {
  const headers = Object.entries(Object(valueOf(configOf(model).headers))).filter(isText)
  return [
    ...Echo.ofHeaders(Object.fromEntries(headers)),
    ...ofAddress(model).filter(({ length }) => length >= 8)
  ]
}
