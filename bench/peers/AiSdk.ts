/** Vercel's AI SDK 7: a `ToolLoopAgent` on a custom `LanguageModelV4`, its `stream` read to the end. */
import { isLoopFinished, tool, ToolLoopAgent } from "ai"
import { z } from "zod"
import { type Contender, double, heard } from "../harness/Contender.ts"
import * as ProviderModel from "./ProviderModel.ts"

export const contenders: ReadonlyArray<Contender> = [{
  name: "AI SDK",
  open: async (script, tally) => {
    const agent = new ToolLoopAgent({
      model: ProviderModel.make(script, tally),
      stopWhen: isLoopFinished(),
      toolCallConcurrency: script.parallel,
      tools: {
        double: tool({
          description: "doubles a number",
          inputSchema: z.object({ n: z.number() }),
          execute: ({ n }) => double(script, tally, n)
        })
      }
    })
    const run = async (signal?: AbortSignal) => {
      const { stream } = await agent.stream({
        prompt: "go",
        ...(signal === undefined ? {} : { abortSignal: signal })
      })
      for await (const part of stream) {
        if (part.type === "text-delta") {
          heard(tally, part.text)
        } else if (part.type === "tool-result") tally.results++
        else if (part.type === "error") throw part.error
      }
    }
    return { run }
  }
}]
