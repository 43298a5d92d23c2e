/**
 * The loop that effect/ai's documentation writes by hand (`ai-docs/src/71_ai/30_chat.ts`), with `streamText` instead of
 * `generateText`, because everybody streams here: a `Chat` that keeps the history, tools resolved by the model.
 */
import * as Chat from "effect/ai/Chat"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Stream from "effect/Stream"
import { type Contender, heard } from "../harness/Contender.ts"
import * as LanguageModels from "./LanguageModels.ts"
import * as Source from "./Source.ts"
import * as Tools from "./Tools.ts"

export const contenders: ReadonlyArray<Contender> = [{
  name: "effect/ai loop",
  open: async (script, tally) => {
    const layer = Layer.mergeAll(
      LanguageModels.layer(script, tally),
      Tools.toolkit.toLayer({ double: Source.handler(script, tally) })
    )
    const runtime = ManagedRuntime.make(layer)
    const tools = await runtime.runPromise(Tools.toolkit)

    const loop = Effect.gen(function*() {
      const session = yield* Chat.fromPrompt([{ role: "user", content: "go" }])
      while (true) {
        let calls = 0
        yield* session.streamText({ prompt: [], toolkit: tools, concurrency: script.parallel }).pipe(
          Stream.runForEachArray((parts) =>
            Effect.sync(() => {
              for (const part of parts) {
                if (part.type === "text-delta") {
                  heard(tally, part.delta)
                } else if (part.type === "tool-call") calls++
                else if (part.type === "tool-result" && !part.isFailure) tally.results++
              }
            })
          )
        )
        if (calls === 0) return
      }
    })
    return { run: (signal) => runtime.runPromise(loop, { signal }), close: () => runtime.dispose() }
  }
}]
