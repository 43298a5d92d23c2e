/**
 * What a test of an agent needs: a scripted model, a model that fails the test on an illegal request, what every log must
 * be, and sweeps that kill the agent's process at every point, or let every operation of its store fail.
 */
export * as CrashSweep from "./CrashSweep.ts"
export * as FaultSweep from "./FaultSweep.ts"
export * as LogRules from "./LogRules.ts"
export * as ScriptedModel from "./ScriptedModel.ts"
export * as StrictModel from "./StrictModel.ts"
