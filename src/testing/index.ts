/**
 * What a test of an agent needs: a scripted model, recorded sessions as tests, a model that fails the test on an illegal request, the rules for every
 * log, sweeps that kill the agent's process at every point or make every operation of its store fail, and the suite that
 * your own session store has to pass. Only the suite needs vitest.
 */
export * as CrashSweep from "./CrashSweep.ts"
export * as FaultSweep from "./FaultSweep.ts"
export * as LogRules from "./LogRules.ts"
export * as Recorded from "./Recorded.ts"
export * as ScriptedModel from "./ScriptedModel.ts"
export * as SessionStoreSuite from "./SessionStoreSuite.ts"
export * as StrictModel from "./StrictModel.ts"
