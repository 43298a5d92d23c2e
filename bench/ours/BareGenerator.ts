/** The floor of plain JavaScript: an async generator as source, the same mapping, joining and decoding, no Effect but Schema. */
import * as Schema from "effect/Schema"
import { type Contender, delta, double } from "../harness/Contender.ts"
import { arrived, hang, pool, wait } from "../harness/Promises.ts"
import * as Source from "./Source.ts"

const decode = Schema.decodeUnknownSync(Source.Params)

export const contenders: ReadonlyArray<Contender> = [{
  name: "floor: async generator",
  open: async (script, tally) => {
    const answer = Source.answers(script)

    const source = async function*(messages: ReadonlyArray<unknown>, signal: AbortSignal | undefined) {
      const parts = answer(Source.count(script, tally, messages.length))
      if (script.latency > 0) await wait(script.latency)
      let ready = 0
      for (const part of parts) {
        if (ready++ % script.chunk === 0) await arrived(script)
        yield part
      }
      if (script.hang !== "no") await hang(script, tally, signal)
    }

    const run = async (signal?: AbortSignal) => {
      const messages: Array<unknown> = [{ role: "user", content: [{ type: "text", text: "go" }] }]
      for (let turn = 1;; turn++) {
        const calls: Array<{ readonly params: unknown }> = []
        const texts: Array<string> = []
        let index = 0
        for await (const part of source(messages, signal)) {
          if (part.type === "text-delta") {
            const event = { _tag: "TextDelta", runId: "run", turn, attempt: 1, index: index++, block: "0", delta }
            texts.push(event.delta)
            tally.deltas++
            tally.characters += event.delta.length
            tally.onDelta?.()
          } else if (part.type === "tool-call") calls.push(part)
        }
        messages.push({ role: "assistant", content: [{ type: "text", text: texts.join("") }, ...calls] })
        if (calls.length === 0) return
        const outcomes = await pool(calls, script.parallel, ({ params }) => double(script, tally, decode(params).n))
        tally.results += outcomes.length
        messages.push({ role: "tool", content: outcomes })
      }
    }
    return { run }
  }
}]
