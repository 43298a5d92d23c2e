/** Where ids of sessions and runs come from: nothing else makes them. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

/** Default: UUID version 7, each of a process behind the one before it. */
export const Ids = Context.Reference<{ readonly next: Effect.Effect<string> }>("fiberloop/services/Ids", {
  defaultValue: () => ({ next: Effect.sync(uuid()) })
})

/** By RFC 9562, with a counter in the 12 bits behind the time; the rest is as random as in one of version 4. */
const uuid = () => {
  let millis = 0
  let count = 0
  return (): string => {
    const now = Date.now()
    const isLater = now > millis
    if (isLater || count === 0xfff) {
      millis = isLater ? now : millis + 1
      count = 0
    } else count++
    const time = millis.toString(16).padStart(12, "0")
    // the variant is the same
    const random = globalThis.crypto.randomUUID().slice(19)
    return `${time.slice(0, 8)}-${time.slice(8)}-7${count.toString(16).padStart(3, "0")}-${random}`
  }
}
