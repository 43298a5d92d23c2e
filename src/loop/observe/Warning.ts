/** Warns, in the logs, of what broke and was given up. Names only: the words of an error may hold secrets. */
import * as Effect from "effect/Effect"

/** Where it is the logger that breaks, that is ignored. */
export const warn = (message: string): Effect.Effect<void> => Effect.ignoreCause(Effect.logWarning(message))
