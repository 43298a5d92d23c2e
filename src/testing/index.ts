/** What a test of an agent needs: a scripted model, and a model that fails the test on an illegal request. */
export * as ScriptedModel from "./ScriptedModel.ts"
export * as StrictModel from "./StrictModel.ts"
