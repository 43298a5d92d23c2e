/** What to do about a failure of a provider, in words for the person who set it up. */
import * as Duration from "effect/Duration"
import type * as ProviderErrorKind from "./ProviderErrorKind.ts"

export interface Circumstances {
  readonly status?: number | undefined
  readonly retryAfter?: Duration.Duration | undefined
  /** where the key is set */
  readonly key: string
}

export const of = (kind: ProviderErrorKind.Kind, { key, retryAfter, status }: Circumstances): string => {
  switch (kind) {
    case "server":
    case "rateLimit":
    case "network":
      return retryAfter === undefined || Duration.isZero(retryAfter)
        ? "try again later"
        : `try again in ${Duration.format(Duration.seconds(Math.ceil(Duration.toSeconds(retryAfter))))}`
    case "response":
      return "try again"
    case "quota":
      return "check the account's billing and limits"
    case "authentication":
      return `check ${key}`
    case "permission":
      return "check what the API key may use"
    case "overflow":
      return "shorten or compact the conversation"
    case "policy":
      return "change the content of the request"
    case "request":
      return status === 404 || status === 405
        ? "check the base URL and the name of the model"
        : status === 413
        ? "it is more than the server accepts: send less"
        : "check the model, the settings and the tools that were sent"
  }
}
