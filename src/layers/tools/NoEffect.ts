/**
 * A handler that returns no Effect, as untyped code may: what the model, and whoever reads the log, is told. Effect and the engine
 * have words of their own for it.
 */
import * as Foreign from "../../run/Foreign.ts"

class NoEffect extends Error {}

/** The defect of a handler that returned something else. */
export const of = (tool: string): Error =>
  new NoEffect(`the handler of "${tool}" must return an Effect, such as Effect.succeed(result), and yield only Effects`)

/** Effect's words, and the engine's in effect's own code, for something else where an Effect is needed. */
const words = /^Fiber\.runLoop: Not a valid effect: |^yield\* \(intermediate value\).* is not iterable$/

/** Whether a defect comes of it. */
export const isSaidBy = (defect: unknown): boolean =>
  Foreign.look(
    () =>
      defect instanceof NoEffect ||
      words.test(defect instanceof TypeError ? defect.message : typeof defect === "string" ? defect : ""),
    false
  )
