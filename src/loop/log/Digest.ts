/** Digests that name what was sent or asked without holding it. */
import * as Effect from "effect/Effect"

/** SHA-256 of a text, hex. */
export const sha256 = (text: string): Effect.Effect<string> =>
  Effect.map(
    Effect.promise(() => globalThis.crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))),
    (bytes) => Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("")
  )

const remembered = new Map<string, string>()
const mostRemembered = 64

/** The same for a text that comes again with every run: instructions, and what they are offered with. */
export const sha256OfFixed = (text: string): Effect.Effect<string> =>
  Effect.suspend(() => {
    const known = remembered.get(text)
    if (known !== undefined) return Effect.succeed(known)
    return Effect.map(sha256(text), (digest) => {
      if (remembered.size >= mostRemembered) remembered.clear()
      remembered.set(text, digest)
      return digest
    })
  })
