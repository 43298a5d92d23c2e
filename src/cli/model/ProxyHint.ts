/** Why a provider may be out of reach: Node uses the proxy that the environment names only when it is told to. */
import * as Effect from "effect/Effect"
import type * as RunError from "../../run/RunError.ts"
import * as Flags from "../Flags.ts"

const names = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"]

/** A sentence for a run that failed because its provider was not reached; nothing where no proxy is named, or where it is used. */
export const of = Effect.fnUntraced(function*({ reason }: RunError.Stored): Effect.fn.Return<string | undefined> {
  const { _tag } = reason._tag === "RetriesExhausted" ? reason.last : reason
  if (_tag !== "Network" && _tag !== "TimedOut") return undefined
  if ((yield* Flags.environment("NODE_USE_ENV_PROXY")) !== undefined) return undefined
  for (const name of names) {
    if ((yield* Flags.environment(name)) !== undefined) {
      return `${name} is set, but Node uses it only where NODE_USE_ENV_PROXY=1 is set, too`
    }
  }
  return undefined
})
