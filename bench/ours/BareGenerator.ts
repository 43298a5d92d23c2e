/** The floor of plain JavaScript: an async generator as source, the same mapping and joining, arguments checked by hand. */
import { type Contender, delta, double, heard } from "../harness/Contender.ts"
import { arrived, hang, pool, wait } from "../harness/Promises.ts"
import * as Answers from "./Answers.ts"

const decode = (params: unknown): number => {
  if (typeof params === "object" && params !== null && "n" in params && Number.isFinite(params.n)) {
    return params.n as number
  }
  throw new Error("n is no number")
}

export const contenders: ReadonlyArray<Contender> = [{
  name: "floor: async generator",
  open: async (script, tally) => {
    const answer = Answers.of(script)

    const source = async function*(messages: ReadonlyArray<unknown>, signal: AbortSignal | undefined) {
      const parts = answer(Answers.count(script, tally, messages))
      if (script.latency > 0) await wait(script.latency)
      for (let at = 0; at < parts.length; at += script.chunk) {
        await arrived(script)
        yield parts.slice(at, at + script.chunk)
      }
      if (script.hang !== "no") await hang(script, tally, signal)
    }

    const run = async (signal?: AbortSignal) => {
      const messages: Array<unknown> = [{ role: "user", content: [{ type: "text", text: "go" }] }]
      for (let turn = 1;; turn++) {
        const calls: Array<{ readonly params: unknown }> = []
        const texts: Array<string> = []
        let index = 0
        for await (const parts of source(messages, signal)) {
          for (const part of parts) {
            if (part.type === "text-delta") {
              const event = { _tag: "TextDelta", runId: "run", turn, attempt: 1, index: index++, block: "0", delta }
              texts.push(event.delta)
              heard(tally, event.delta)
            } else if (part.type === "tool-call") calls.push(part)
          }
        }
        messages.push({ role: "assistant", content: [{ type: "text", text: texts.join("") }, ...calls] })
        if (calls.length === 0) return
        const outcomes = await pool(calls, script.parallel, ({ params }) => double(script, tally, decode(params)))
        tally.results += outcomes.length
        messages.push({ role: "tool", content: outcomes })
      }
    }
    return { run }
  }
}]
