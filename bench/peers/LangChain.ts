/** LangChain's `createAgent` on a custom `BaseChatModel`, streamed as messages and updates, with and without a checkpointer. */
import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager"
import { BaseChatModel, type BindToolsInput } from "@langchain/core/language_models/chat_models"
import { AIMessageChunk, type BaseMessage } from "@langchain/core/messages"
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs"
import { MemorySaver } from "@langchain/langgraph"
import { createAgent, tool } from "langchain"
import { z } from "zod"
import { asked, type Contender, delta, double, heard, numbers, type Script, type Tally } from "../harness/Contender.ts"
import { arrived, hang, wait } from "../harness/Promises.ts"

/** A conversation has the user's message, then an answer and its results for each round. */
class Scripted extends BaseChatModel {
  readonly script: Script
  readonly tally: Tally

  constructor(script: Script, tally: Tally) {
    super({})
    this.script = script
    this.tally = tally
  }

  _llmType() {
    return "bench"
  }

  override bindTools(_tools: Array<BindToolsInput>) {
    return this.withConfig({})
  }

  override _generate(): Promise<ChatResult> {
    return Promise.reject(new Error("the scripted model streams"))
  }

  override async *_streamResponseChunks(
    messages: Array<BaseMessage>,
    options: this["ParsedCallOptions"],
    manager?: CallbackManagerForLLMRun
  ): AsyncGenerator<ChatGenerationChunk> {
    const { script, tally } = this
    const rounds = (messages.length - 1) / (1 + script.calls)
    asked(script, tally, messages, rounds)
    if (script.latency > 0) await wait(script.latency)
    for (let i = 0; i < script.deltas; i++) {
      if (i % script.chunk === 0) await arrived(script)
      const chunk = new ChatGenerationChunk({ text: delta, message: new AIMessageChunk(delta) })
      yield chunk
      await manager?.handleLLMNewToken(delta, undefined, undefined, undefined, undefined, { chunk })
    }
    if (script.hang !== "no") await hang(script, tally, options.signal)
    const calls = rounds < script.turns ? numbers(script, rounds) : []
    if (calls.length === 0) return
    const message = new AIMessageChunk({
      content: "",
      tool_call_chunks: calls.map((n, index) => ({
        type: "tool_call_chunk",
        index,
        id: `call${n}`,
        name: "double",
        args: JSON.stringify({ n })
      }))
    })
    yield new ChatGenerationChunk({ text: "", message })
  }
}

const contender = (name: string, isSaved: boolean): Contender => ({
  name,
  open: async (script, tally) => {
    const checkpointer = isSaved ? new MemorySaver() : undefined
    const agent = createAgent({
      model: new Scripted(script, tally),
      tools: [tool(({ n }: { readonly n: number }) => double(script, tally, n), {
        name: "double",
        description: "doubles a number",
        schema: z.object({ n: z.number() })
      })],
      ...(checkpointer === undefined ? {} : { checkpointer })
    })
    let threads = 0
    const run = async (signal?: AbortSignal) => {
      const thread = `thread${threads++}`
      const stream = await agent.stream({ messages: [{ role: "user", content: "go" }] }, {
        streamMode: ["messages", "updates"],
        recursionLimit: 1_000_000,
        maxConcurrency: script.parallel,
        configurable: { thread_id: thread },
        ...(signal === undefined ? {} : { signal })
      })
      for await (const [mode, payload] of stream) {
        if (mode === "messages") {
          const [message] = payload
          if (message.getType() !== "ai" || message.text === "") continue
          heard(tally, message.text)
        } else if ("tools" in payload) {
          const messages = payload.tools?.messages ?? []
          tally.results += messages.filter((message) => !("status" in message && message.status === "error")).length
        }
      }
      // since what others keep in memory is garbage by now
      await checkpointer?.deleteThread(thread)
    }
    return { run }
  }
})

export const contenders: ReadonlyArray<Contender> = [
  contender("LangChain", false),
  contender("LangChain, MemorySaver", true)
]
