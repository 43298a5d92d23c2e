/**
 * Owns that matching a regular expression ends and can be interrupted.
 *
 * A JavaScript regular expression can take exponential time, and blocks the thread it runs in. So it runs in a worker thread
 * that is ended when a list of lines takes longer than 1 s, when a search takes longer than 30 s of matching altogether, or
 * when the scope closes; the process itself goes on meanwhile. Times are wall clock: an overloaded machine can refuse an
 * innocent expression.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import { Worker } from "node:worker_threads"
import * as FileError from "./FileError.ts"
import type { Answer } from "./RegexWorker.ts"

/** How many milliseconds of wall clock time a list of lines and a whole search get. */
export const RegexLimits = Context.Reference<{ readonly slice: number; readonly search: number }>(
  "fiberloop/cli/files/RegexLimits",
  { defaultValue: () => ({ slice: 1_000, search: 30_000 }) }
)

/** Finds the lines that match; fails when the time is used up, and always after that. */
type BoundedRegex = (lines: ReadonlyArray<string>) => Effect.Effect<Answer, FileError.FileError>

/** A thread for the expression, until the scope closes. */
export const make = Effect.fnUntraced(function*(regex: RegExp): Effect.fn.Return<BoundedRegex, never, Scope.Scope> {
  const limits = yield* RegexLimits
  const worker = yield* Effect.acquireRelease(
    // Without a listener an error between two questions would end the process; the next question runs out of time.
    Effect.sync(() => new Worker(script, { workerData: regex }).on("error", () => {})),
    (worker) => Effect.promise(() => worker.terminate())
  )
  yield* nextAnswer(worker)
  const turn = yield* Semaphore.make(1)
  let left = limits.search
  return (lines) =>
    Effect.suspend(() => {
      const [start, budget, before] = [performance.now(), Math.min(limits.slice, left), left]
      if (budget <= 0) return Effect.fail(tooSlow())
      left = 0 // and stays so without an answer: a late one must not be taken as the answer for the next lines
      worker.postMessage(lines)
      return nextAnswer(worker).pipe(
        Effect.raceFirst(Effect.andThen(elapsed(budget), Effect.failSync(tooSlow))),
        Effect.tap(() => Effect.sync(() => left = before - (performance.now() - start)))
      )
    }).pipe(turn.withPermit)
})

// The worker is beside this file, as TypeScript in the sources and as JavaScript in the package.
const script = new URL(`./RegexWorker.${import.meta.url.endsWith(".ts") ? "ts" : "js"}`, import.meta.url)

/** The worker's next message; a worker that fails is a defect. */
const nextAnswer = (worker: Worker): Effect.Effect<Answer> =>
  Effect.callback<Answer>((resume) => {
    const onMessage = (answer: Answer) => settle(Effect.succeed(answer))
    const onError = (cause: unknown) => settle(Effect.die(cause))
    const leave = () => void worker.off("message", onMessage).off("error", onError)
    const settle = (result: Effect.Effect<Answer>) => {
      leave()
      resume(result)
    }
    worker.on("message", onMessage).on("error", onError)
    return Effect.sync(leave)
  })

/** Wall clock time, not the Clock's: it bounds a thread. An answer that has arrived by then comes first. */
const elapsed = (millis: number): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    const timer = setTimeout(() => setImmediate(() => resume(Effect.void)), millis)
    return Effect.sync(() => clearTimeout(timer))
  })

const tooSlow = () =>
  new FileError.FileError({
    reason: "RegexTooSlow",
    message: "The regular expression took too long: avoid nested repetitions such as (a+)+, look for plain text, " +
      "or narrow the search with folder or pattern."
  })
