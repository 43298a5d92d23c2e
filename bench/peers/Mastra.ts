/** Mastra's `Agent` on the same custom `LanguageModelV4` as the AI SDK here, its `fullStream` read to the end. */
import { Agent } from "@mastra/core/agent"
import { createTool } from "@mastra/core/tools"
import { z } from "zod"
import { type Contender, double, heard } from "../harness/Contender.ts"
import * as ProviderModel from "./ProviderModel.ts"

type LanguageModel = Extract<ConstructorParameters<typeof Agent>[0]["model"], { readonly specificationVersion: "v4" }>

export const contenders: ReadonlyArray<Contender> = [{
  name: "Mastra",
  mergesTexts: true,
  open: async (script, tally) => {
    const agent = new Agent({
      id: "bench",
      name: "bench",
      instructions: "",
      // its types are those of an older provider interface, without the finish reason "interrupted"
      model: ProviderModel.make(script, tally) as unknown as LanguageModel,
      tools: {
        double: createTool({
          id: "double",
          description: "doubles a number",
          inputSchema: z.object({ n: z.number() }),
          execute: ({ n }) => double(script, tally, n)
        })
      }
    })
    const run = async (signal?: AbortSignal) => {
      const { fullStream } = await agent.stream("go", {
        maxSteps: script.turns + 1,
        toolCallConcurrency: script.parallel,
        ...(signal === undefined ? {} : { abortSignal: signal })
      })
      for await (const part of fullStream) {
        if (part.type === "text-delta") {
          heard(tally, part.payload.text)
        } else if (part.type === "tool-result") tally.results++
        else if (part.type === "error") throw part.payload.error
      }
    }
    return { run }
  }
}]
