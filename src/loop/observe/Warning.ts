/** What is said to whoever reads logs of what broke, and was gone on without. Names only: what broke may say secrets. */
import * as Effect from "effect/Effect"

/** It may be the logger that breaks: that is nobody's but its own. */
export const warn = (message: string): Effect.Effect<void> => Effect.ignoreCause(Effect.logWarning(message))
