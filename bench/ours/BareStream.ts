/**
 * The floor: the scripted model's stream, each part mapped to an event, the text joined; a call's arguments are decoded, and its
 * outcome is kept in the conversation. No store, no limits, no time limits, no retries.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { type Contender, heard } from "../harness/Contender.ts"
import type * as Answers from "./Answers.ts"
import * as Source from "./Source.ts"

const decode = Schema.decodeUnknownEffect(Source.Params)

export const contenders: ReadonlyArray<Contender> = [{
  name: "floor: Effect stream",
  open: async (script, tally) => {
    const model = Source.model(script, tally)
    const handler = Source.handler(script, tally)
    const call = (params: unknown) => Effect.flatMap(decode(params), handler)

    const loop = Effect.gen(function*() {
      const messages: Array<Answers.Request["messages"][number]> = [
        { role: "user", content: [{ type: "text", text: "go" }] }
      ]
      const request = { tools: [], toolChoice: "none" } as const
      for (let turn = 1;; turn++) {
        const metadata = { sessionId: "session", runId: "run", turn, attempt: 1 }
        const calls: Array<Extract<Answers.Part, { type: "tool-call" }>> = []
        const texts: Array<string> = []
        let index = 0
        yield* model.stream({ ...request, messages, metadata }).pipe(
          Stream.map((part) =>
            part.type === "text-delta"
              ? {
                _tag: "TextDelta",
                runId: "run",
                turn,
                attempt: 1,
                index: index++,
                block: part.block,
                delta: part.delta
              } as const
              : part
          ),
          Stream.runForEachArray((events) =>
            Effect.sync(() => {
              for (const event of events) {
                if ("_tag" in event) {
                  texts.push(event.delta)
                  heard(tally, event.delta)
                } else if (event.type === "tool-call") calls.push(event)
              }
            })
          )
        )
        messages.push({ role: "assistant", content: [{ type: "text", text: texts.join("") }, ...calls] })
        if (calls.length === 0) return
        const outcomes = yield* Effect.forEach(calls, ({ params }) => call(params), { concurrency: script.parallel })
        tally.results += outcomes.length
        messages.push({
          role: "tool",
          content: outcomes.map((result, i) => ({
            type: "tool-result",
            id: calls[i]!.id,
            name: "double",
            result,
            isFailure: false
          }))
        })
      }
    })
    return { run: (signal) => Effect.runPromise(loop, { signal }) }
  }
}]
