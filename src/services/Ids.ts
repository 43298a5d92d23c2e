/** Where session ids and run ids come from: nothing else makes them. */
import * as Context from "effect/Context"
import * as SecureRandom from "effect/crypto/SecureRandom"
import type * as Effect from "effect/Effect"

/** Default: UUID version 7, which sorts by time, and in the order of creation. */
export const Ids = Context.Reference<{ readonly next: Effect.Effect<string> }>("fiberloop/services/Ids", {
  defaultValue: () => ({ next: SecureRandom.make(drawn()).uuidV7() })
})

/** Secure random bytes, fetched from the system for 256 ids at once: asking it takes longer than making an id. */
const drawn = () => {
  let pool: Uint8Array = new Uint8Array(0)
  let used = 0
  return (size: number): Uint8Array => {
    if (used + size > pool.length) {
      pool = SecureRandom.randomBytesUnsafe(Math.max(size, 4096))
      used = 0
    }
    used += size
    return pool.slice(used - size, used)
  }
}
