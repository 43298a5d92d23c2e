/**
 * Faults that pass by themselves, of which the database says that it did nothing: it had no connection left, others were in the
 * way, or it was stopped by a limit of the server. They cost a wait, and not a run.
 *
 * Does not own faults that leave open what is stored (`AppendFaults`), nor for how long one question may be asked (`Answered`).
 */
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as SqlError from "effect/sql/SqlError"
import * as AppendFaults from "./AppendFaults.ts"

/** No serialisation, a deadlock, too many connections, a lock that was waited for too long, a statement that was cancelled. */
const codes = new Set(["40001", "40P01", "53300", "55P03", "57014"])

const isPassing = (error: unknown): boolean => SqlError.isSqlError(error) && codes.has(AppendFaults.codeOf(error))

/** How often, and for how long: others that were in the way ask again too, at other times. */
const again = Schedule.min([Schedule.exponential("20 millis"), Schedule.spaced("500 millis")]).pipe(
  Schedule.jittered,
  Schedule.upTo({ duration: "5 seconds" })
)

/**
 * Asks again what failed by such a fault, for a few seconds. Only for what is carried out in full or not at all. Prepares for
 * that only once it has failed: most questions are answered.
 */
export const waited = <A, E, R>(asking: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.catch(asking, (error) =>
    isPassing(error)
      ? Effect.delay(Effect.retry(asking, { while: isPassing, schedule: again }), "20 millis")
      : Effect.fail(error))
