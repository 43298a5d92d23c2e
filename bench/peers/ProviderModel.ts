/** The scripted model in the AI SDK's provider interface. A plain object, because the SDK's mock keeps every prompt. */
import type { LanguageModelV4, LanguageModelV4StreamPart as Part } from "@ai-sdk/provider"
import { asked, delta, numbers, type Script, type Tally } from "../harness/Contender.ts"
import { arrived, hang, wait } from "../harness/Promises.ts"

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined }
}

/** Emits `chunk` parts per pull, after what the script waits for between them. */
const streamOf = (script: Script, tally: Tally, parts: ReadonlyArray<Part>, signal: AbortSignal | undefined) => {
  let given = 0
  return new ReadableStream<Part>({
    start: () => script.latency > 0 ? wait(script.latency) : undefined,
    pull: async (controller) => {
      await arrived(script)
      for (let i = 0; i < script.chunk && given < parts.length; i++) controller.enqueue(parts[given++]!)
      if (given < parts.length) return
      if (script.hang === "no") return controller.close()
      try {
        await hang(script, tally, signal)
      } catch (error) {
        controller.error(error)
      }
    }
  })
}

/** A conversation has the user's message, then an answer and its results for each round. */
export const make = (script: Script, tally: Tally) => {
  const pieces = Array.from({ length: script.deltas }, (): Part => ({ type: "text-delta", id: "0", delta }))
  const text: ReadonlyArray<Part> = [{ type: "stream-start", warnings: [] }, { type: "text-start", id: "0" }, ...pieces]
  return {
    specificationVersion: "v4" as const,
    provider: "bench",
    modelId: "bench",
    supportedUrls: {},
    doGenerate: (): Promise<never> => Promise.reject(new Error("the scripted model streams")),
    doStream: async ({ abortSignal, prompt }) => {
      const rounds = (prompt.length - 1) / 2
      asked(script, tally, prompt, rounds)
      const hasCalls = rounds < script.turns
      const calls = hasCalls ? numbers(script, rounds) : []
      const parts: ReadonlyArray<Part> = script.hang === "no"
        ? [
          ...text,
          { type: "text-end", id: "0" },
          ...calls.map((n): Part => ({
            type: "tool-call",
            toolCallId: `call${n}`,
            toolName: "double",
            input: JSON.stringify({ n })
          })),
          { type: "finish", finishReason: { unified: hasCalls ? "tool-calls" : "stop", raw: undefined }, usage }
        ]
        : text
      return { stream: streamOf(script, tally, parts, abortSignal) }
    }
  } satisfies LanguageModelV4
}
