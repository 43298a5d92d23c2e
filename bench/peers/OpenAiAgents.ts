/** OpenAI's Agents SDK: its `Runner` streams an `Agent` on a custom `Model`, tracing off. */
import { Agent, type Model, type ModelRequest, Runner, tool } from "@openai/agents"
import { z } from "zod"
import { asked, type Contender, delta, double, heard, numbers, type Script, type Tally } from "../harness/Contender.ts"
import { arrived, hang, wait } from "../harness/Promises.ts"

type Event = ReturnType<Model["getStreamedResponse"]> extends AsyncIterable<infer E> ? E : never
type Done = Extract<Event, { type: "response_done" }>

const usage = { requests: 1, inputTokens: 1, outputTokens: 1, totalTokens: 2 }

/** A conversation has the user's message, then an answer, its calls and their results for each round. */
const model = (script: Script, tally: Tally): Model => ({
  getResponse: () => Promise.reject(new Error("the scripted model streams")),
  getStreamedResponse: async function*({ input, signal }: ModelRequest): AsyncGenerator<Event> {
    const rounds = (input.length - 1) / (1 + 2 * script.calls)
    asked(script, tally, input, rounds)
    if (script.latency > 0) await wait(script.latency)
    yield { type: "response_started" }
    for (let i = 0; i < script.deltas; i++) {
      if (i % script.chunk === 0) await arrived(script)
      yield { type: "output_text_delta", delta }
    }
    if (script.hang !== "no") await hang(script, tally, signal)
    const output: Done["response"]["output"] = [{
      type: "message",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: delta.repeat(script.deltas) }]
    }]
    for (const n of rounds < script.turns ? numbers(script, rounds) : []) {
      const call = { type: "function_call", status: "completed", name: "double" } as const
      output.push({ ...call, callId: `call${n}`, arguments: JSON.stringify({ n }) })
    }
    yield { type: "response_done", response: { id: `response${rounds}`, usage, output } }
  }
})

export const contenders: ReadonlyArray<Contender> = [{
  name: "OpenAI Agents",
  open: async (script, tally) => {
    const agent = new Agent({
      name: "bench",
      model: model(script, tally),
      tools: [tool({
        name: "double",
        description: "doubles a number",
        parameters: z.object({ n: z.number() }),
        execute: ({ n }) => double(script, tally, n)
      })]
    })
    const runner = new Runner({ tracingDisabled: true })
    const run = async (signal?: AbortSignal) => {
      const stream = await runner.run(agent, "go", {
        stream: true,
        maxTurns: null,
        toolExecution: { maxFunctionToolConcurrency: script.parallel },
        ...(signal === undefined ? {} : { signal })
      })
      for await (const event of stream) {
        if (event.type === "raw_model_stream_event") {
          if (event.data.type !== "output_text_delta") continue
          heard(tally, event.data.delta)
        } else if (event.type === "run_item_stream_event" && event.name === "tool_output") tally.results++
      }
      await stream.completed
    }
    return { run }
  }
}]
