/** The exports that need `@ai-sdk/provider`: models of the Vercel AI SDK. */
export * as LanguageModelAiSdk from "../layers/LanguageModelAiSdk.ts"
export * as ModelAiSdk from "../layers/ModelAiSdk.ts"
