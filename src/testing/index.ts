/**
 * What a test of an agent needs: a scripted model, a model that fails the test on an illegal request, what every log
 * must be, sweeps that kill the agent's process at every point or let every operation of its store fail, and the suite
 * that a session store of one's own passes. Only the suite needs vitest.
 */
export * as CrashSweep from "./CrashSweep.ts"
export * as FaultSweep from "./FaultSweep.ts"
export * as LogRules from "./LogRules.ts"
export * as ScriptedModel from "./ScriptedModel.ts"
export * as SessionStoreSuite from "./SessionStoreSuite.ts"
export * as StrictModel from "./StrictModel.ts"
