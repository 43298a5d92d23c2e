/** A sweep inside a bundle: it runs on the bundle's own `effect`, for callers that have another. */
import * as Effect from "effect/Effect"
import * as CrashSweep from "../../src/testing/CrashSweep.ts"

export const run = (options: CrashSweep.Sweep, signal: AbortSignal): Promise<CrashSweep.Report> =>
  Effect.runPromise(CrashSweep.sweep(options), { signal })
