/**
 * Digests that name what was sent or asked without holding it.
 *
 * Does not own what goes into one: whoever records it does (`Offer`, `ModelHooks`, `Question`, `Brief`).
 */
import * as Effect from "effect/Effect"
import * as Hex from "effect/encoding/Hex"

/** SHA-256 of a text, hex. */
export const sha256 = (text: string): Effect.Effect<string> => Effect.promise(() => digest(text))

const digest = async (text: string): Promise<string> => {
  const bytes = await globalThis.crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))
  return Hex.encode(new Uint8Array(bytes))
}

const remembered = new Map<string, string | Promise<string>>()
const mostRemembered = 64

/**
 * SHA-256, hex, of a text that recurs in every run: instructions, and what is offered with them. Work on it begins when this is
 * called; a digest that is known needs no wait.
 */
export const sha256OfFixed = (text: string): Effect.Effect<string> => {
  const known = remembered.get(text) ?? begin(text)
  return typeof known === "string" ? Effect.succeed(known) : Effect.promise(() => known)
}

/** A digest that fails is forgotten, and fails those who wait for it. One that was forgotten while under way stays forgotten. */
const begin = (text: string): Promise<string> => {
  const begun = digest(text)
  // the oldest goes, so that what an agent was just made with is there for its first run
  if (remembered.size >= mostRemembered) remembered.delete(remembered.keys().next().value!)
  remembered.set(text, begun)
  const isHeld = () => remembered.get(text) === begun
  begun.then((known) => isHeld() && remembered.set(text, known), () => isHeld() && remembered.delete(text))
  return begun
}
