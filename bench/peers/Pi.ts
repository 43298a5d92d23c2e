/** pi's `Agent`, with a stream function as its model, as its contract says, and its events by `subscribe`. */
import { Agent, type AgentMessage, type AgentTool, type StreamFn } from "@earendil-works/pi-agent-core"
import { type AssistantMessage, createAssistantMessageEventStream, type Model } from "@earendil-works/pi-ai"
import { num, obj } from "@earendil-works/pi-schema"
import { asked, type Contender, delta, double, heard, numbers, type Script, type Tally } from "../harness/Contender.ts"
import { arrived, hang, limiter, wait } from "../harness/Promises.ts"

const model: Model<"bench"> = {
  id: "bench",
  name: "bench",
  api: "bench",
  provider: "bench",
  baseUrl: "",
  reasoning: false,
  input: ["text"],
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  contextWindow: 1_000_000,
  maxTokens: 1_000_000
}

const usage = {
  input: 1,
  output: 1,
  cacheRead: 0,
  cacheWrite: 0,
  totalTokens: 2,
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 }
}

/** The scripted model; a conversation has a system message, the user's, then an answer and its results for each round. */
const streamFn = (script: Script, tally: Tally): StreamFn => (model, context, options) => {
  const stream = createAssistantMessageEventStream()
  const rounds = (context.messages.length - 2) / (1 + script.calls)
  asked(script, tally, context.messages, rounds)
  const output: AssistantMessage = {
    role: "assistant",
    content: [],
    api: model.api,
    provider: model.provider,
    model: model.id,
    usage,
    stopReason: "stop",
    timestamp: Date.now()
  }
  const produce = async () => {
    if (script.latency > 0) await wait(script.latency)
    stream.push({ type: "start", partial: output })
    const text = { type: "text" as const, text: "" }
    output.content.push(text)
    stream.push({ type: "text_start", contentIndex: 0, partial: output })
    for (let i = 0; i < script.deltas; i++) {
      if (i % script.chunk === 0) await arrived(script)
      text.text += delta
      stream.push({ type: "text_delta", contentIndex: 0, delta, partial: output })
    }
    if (script.hang !== "no") await hang(script, tally, options?.signal)
    stream.push({ type: "text_end", contentIndex: 0, content: text.text, partial: output })
    for (const n of rounds < script.turns ? numbers(script, rounds) : []) {
      const toolCall = { type: "toolCall" as const, id: `call${n}`, name: "double", arguments: { n } }
      const contentIndex = output.content.push(toolCall) - 1
      stream.push({ type: "toolcall_start", contentIndex, partial: output })
      stream.push({ type: "toolcall_end", contentIndex, toolCall, partial: output })
    }
    const reason = rounds < script.turns ? "toolUse" : "stop"
    output.stopReason = reason
    stream.push({ type: "done", reason, message: output })
  }
  produce().catch(() => {
    output.stopReason = "aborted"
    stream.push({ type: "error", reason: "aborted", error: output })
  })
  return stream
}

const Params = obj({ n: num() })

/** Called with each settled message before the run goes on. */
type Keep = (message: AgentMessage) => void

/** One run of a new agent. */
export const run = (script: Script, tally: Tally, keep: Keep | undefined) => {
  // pi runs all of an answer's calls at once, or one after the other
  const limit = limiter(script.parallel)
  const isParallel = script.parallel > 1
  const tool: AgentTool<typeof Params> = {
    name: "double",
    label: "double",
    description: "doubles a number",
    parameters: Params,
    execute: async (_, { n }) => {
      const result = await (isParallel ? limit(() => double(script, tally, n)) : double(script, tally, n))
      return { content: [{ type: "text", text: JSON.stringify(result) }], details: undefined }
    }
  }
  return async (signal?: AbortSignal) => {
    const agent = new Agent({
      streamFn: streamFn(script, tally),
      toolExecution: isParallel ? "parallel" : "sequential",
      initialState: { model, tools: [tool] }
    })
    signal?.addEventListener("abort", () => agent.abort(), { once: true })
    agent.subscribe((event) => {
      if (event.type === "message_update") {
        const update = event.assistantMessageEvent
        if (update.type !== "text_delta") return
        heard(tally, update.delta)
      } else if (event.type === "tool_execution_end") {
        if (!event.isError) tally.results++
      } else if (event.type === "message_end" && keep !== undefined) keep(event.message)
    })
    await agent.prompt("go")
  }
}

export const contenders: ReadonlyArray<Contender> = [{
  name: "pi",
  open: async (script, tally) => ({ run: run(script, tally, undefined) })
}]
