/**
 * What a test of an agent needs: a scripted model, a model that fails the test on an illegal request, and the suite that a
 * session store of one's own passes. Only the suite needs vitest.
 */
export * as ScriptedModel from "./ScriptedModel.ts"
export * as SessionStoreSuite from "./SessionStoreSuite.ts"
export * as StrictModel from "./StrictModel.ts"
