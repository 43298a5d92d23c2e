/** A sweep as a bundle has it: on the `effect` that is in that, for whoever has another one. */
import * as Effect from "effect/Effect"
import * as CrashSweep from "../../src/testing/CrashSweep.ts"

export const run = (options: CrashSweep.Sweep, signal: AbortSignal): Promise<CrashSweep.Report> =>
  Effect.runPromise(CrashSweep.sweep(options), { signal })
