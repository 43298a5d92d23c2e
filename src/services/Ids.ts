/** Where ids of sessions and runs come from: nothing else makes them. */
import * as Context from "effect/Context"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"

/** Default: UUID version 7, which sorts by time. */
export const Ids = Context.Reference<{ readonly next: Effect.Effect<string> }>("fiberloop/services/Ids", {
  defaultValue: () => ({ next: Effect.sync(() => SecureRandom.uuidV7Unsafe()) })
})
