/**
 * Growing memory: a conversation with large tool results is sent whole with every call, so each call costs more than the one
 * before. Small results keep it small.
 *
 * `npm run build`, then `node examples/troubleshooting/growing.ts`, then as docs/troubleshooting.md says
 */
import { NodeRuntime } from "@effect/platform-node"
import { Effect } from "effect"
import { ScriptedModel } from "fiberloop/testing"
import * as Reader from "./Reader.ts"

const [, , db = "growing.db"] = process.argv

const conversation = (name: string, charactersOfPage: number) =>
  Reader.show(db, {
    name,
    inputs: Array.from({ length: 6 }, (_, i) => `What is on page ${i + 1}?`),
    page: (page) => `Page ${page}. `.padEnd(charactersOfPage, "Lorem ipsum. "),
    model: ({ messages, metadata: { turn } }) => {
      // four characters per token, as a rule of thumb
      const used = { inputTokens: Math.ceil(JSON.stringify(messages).length / 4), outputTokens: 10 }
      return turn === 1
        ? [
          Reader.readPage(messages.filter(({ role }) => role === "user").length),
          ScriptedModel.finish("tool-calls", used)
        ]
        : [ScriptedModel.text("Latin."), ScriptedModel.finish("stop", used)]
    }
  })

NodeRuntime.runMain(Effect.andThen(conversation("hoarding", 20_000), conversation("frugal", 200)))
