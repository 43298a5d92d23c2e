/** The same log makes the same bytes, and a longer log begins with those of the shorter, so that caches work. */
import { assert, describe, it } from "@effect/vitest"
import type * as Message from "../../src/run/Message.ts"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import * as Transcript from "../../src/run/Transcript.ts"
import * as Logs from "../support/Logs.ts"
import { models } from "../support/Odd.ts"

const check = (runs: number) => ({ arbitrary: { runs, size: 60, seed: "stability" } })

const messagesOf = (log: Logs.Log, reader?: Message.ModelRef) => Transcript.messages(Transcript.fromLog(log), reader)

describe("stability", () => {
  /** The messages of each turn's request, from the last compaction on. */
  const requests = (log: Logs.Log, reader: Message.ModelRef) => {
    const last = log.findLastIndex((event) => event._tag === "ContextCompacted")
    return log.flatMap((event: RunEvent.Durable, i) =>
      i > last && event._tag === "TurnStarted" ? [messagesOf(log.slice(0, i + 1), reader)] : []
    )
  }

  it.prop("keeps the messages of the turn before at the start of a turn's, byte for byte", [Logs.odd], ([{ log }]) => {
    for (const reader of models) {
      const all = requests(log, reader)
      all.slice(1).forEach((messages, i) => {
        const before = all[i]!
        if (before.length === 0) return
        const last = before.length - 1
        assert.strictEqual(JSON.stringify(messages.slice(0, last)), JSON.stringify(before.slice(0, last)))
        // what a provider has not answered in the end is left out
        if (before[last]?.role === "assistant") return
        // if the model gave no answer, the last user message continues
        const [was, is] = [before[last], messages[last]].map((message) => JSON.stringify(message?.content ?? []))
        assert.isTrue(is === was || is!.startsWith(`${was!.slice(0, -1)},`), `${was} -> ${is}`)
      })
    }
  }, check(300))

  it.prop("keeps the messages that an answer responds to as they were sent", [Logs.tidy], ([{ log }]) => {
    log.forEach((event, i) => {
      if (event._tag !== "AssistantMessage" || log[i - 1]?._tag !== "TurnStarted") return
      const before = messagesOf(log.slice(0, i), models[0])
      const after = messagesOf(log.slice(0, i + 1), models[0])
      if (before.at(-1)?.role === "assistant") return
      assert.strictEqual(JSON.stringify(after.slice(0, before.length)), JSON.stringify(before))
    })
  }, check(200))
})
