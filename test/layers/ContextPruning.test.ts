/** Old output of tools becomes a note: every message stays, calls keep their results, and the newest output is whole. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as ContextPruning from "../../src/layers/ContextPruning.ts"
import * as Message from "../../src/run/Message.ts"
import * as Transcript from "../../src/run/Transcript.ts"
import * as Draft from "../support/Drafts.ts"
import * as Views from "../support/Views.ts"

const output = (n: number, size = 4_000) => `${n}:${"x".repeat(size)}`

/** A conversation of so many tool rounds. */
const worked = (rounds: number, size?: number) =>
  Transcript.fromLog(Draft.log(
    Draft.started("go"),
    ...Array.from({ length: rounds }, (_, i) => [
      Draft.turnStarted(i + 1),
      Draft.assistant([Draft.call("work", { n: i })], { turn: i + 1 }),
      Draft.settled(`${i + 1}.0`, output(i, size)),
      Draft.turnFinished(i + 1)
    ]).flat()
  ))

const results = (transcript: Transcript.Transcript) =>
  Transcript.entries(transcript).flatMap(({ message }) =>
    message.role === "tool" ? message.content.map(({ result }) => JSON.stringify(result).slice(1, 30)) : []
  )

const prune = (transcript: Transcript.Transcript, keep?: number) => {
  const manager = ContextPruning.make(keep === undefined ? {} : { keep })
  const plan = manager.plan(Views.view(transcript, { force: "overflow" }))
  return plan._tag === "Send"
    ? undefined
    : Views.after(transcript, Effect.runSync(manager.compact(plan.request)))
}

describe("pruning", () => {
  it("keeps all messages, and the newest output whole", () => {
    const before = worked(10)
    const after = prune(before)!
    assert.strictEqual(Transcript.size(after), Transcript.size(before))
    assert.isBelow(Views.tokens(after), Views.tokens(before) / 2)
    assert.deepStrictEqual(results(after).slice(-2), results(before).slice(-2))
    assert.match(results(after)[0]!, /^\(4002 characters of this outp/)
  })

  it("leaves short output alone", () => {
    assert.isUndefined(prune(worked(10, 100)))
  })

  it("leaves out what a tool has shown, with its files, and counts it and not the result", () => {
    const rounds = (content: ReadonlyArray<Message.UserPart>) =>
      Transcript.fromLog(Draft.log(
        Draft.started("go"),
        ...Array.from({ length: 10 }, (_, i) => [
          Draft.turnStarted(i + 1),
          Draft.assistant([Draft.call("work", { n: i })], { turn: i + 1 }),
          Draft.settled(`${i + 1}.0`, { _tag: "Succeeded", result: output(i), content }),
          Draft.turnFinished(i + 1)
        ]).flat()
      ))
    const shown = rounds([Message.text("a chart"), { type: "file", mediaType: "image/png", data: "A".repeat(4_000) }])
    const after = prune(shown)!
    const [oldest] = Transcript.entries(after).flatMap(({ message }) => message.role === "tool" ? message.content : [])
    assert.match(JSON.stringify(oldest?.result), /^"\(40\d\d characters of this output/)
    assert.isFalse("content" in oldest!)
    assert.isUndefined(prune(rounds([Message.text("a chart")])))
  })

  it("leaves the last exchange alone", () => {
    assert.isUndefined(prune(worked(1), 0))
    assert.deepStrictEqual(results(prune(worked(3), 0)!).map((text) => text.startsWith("(")), [true, true, false])
  })

  it("prunes the last exchange once a user has said something after it", () => {
    const log = Draft.log(
      Draft.started("go"),
      Draft.turnStarted(1),
      Draft.assistant([Draft.call("work")]),
      Draft.settled("1.0", output(1)),
      Draft.turnFinished(1),
      Draft.input("And now?")
    )
    assert.isUndefined(prune(Transcript.fromLog(log.slice(0, -1)), 0))
    assert.deepStrictEqual(results(prune(Transcript.fromLog(log), 0)!).map((text) => text.startsWith("(")), [true])
  })

  it("leaves the last exchange alone when only the runtime has said something after it", () => {
    const log = Draft.log(
      Draft.started("go"),
      Draft.turnStarted(1),
      Draft.assistant([Draft.call("work")]),
      Draft.settled("1.0", output(1)),
      Draft.turnFinished(1),
      Draft.notice("The same call was made three times.", "doomLoop")
    )
    assert.isUndefined(prune(Transcript.fromLog(log), 0))
  })

  it("leaves the output of a turn with open calls alone", () => {
    const open = Transcript.fromLog(Draft.log(
      Draft.started("go"),
      Draft.turnStarted(1),
      Draft.assistant([Draft.call("work")]),
      Draft.settled("1.0", output(1)),
      Draft.turnFinished(1),
      Draft.turnStarted(2),
      Draft.assistant([Draft.call("work"), Draft.call("work")], { turn: 2 }),
      Draft.settled("2.0", output(2)),
      Draft.input("And now?")
    ))
    const after = results(prune(open, 0)!).map((text) => text.startsWith("("))
    assert.deepStrictEqual(after.slice(0, 2), [true, false])
  })

  it("does nothing the second time", () => {
    const once = prune(worked(10))!
    assert.isUndefined(prune(once, 0.9))
  })

  it("keeps the memory of an earlier compaction, once", () => {
    const memory = { text: "They talked." }
    const usage = { inputTokens: 0, outputTokens: 0 }
    const before = Views.after(worked(10), { strategy: "summary", upTo: 5, replacement: [], memory, usage }, 50)
    const after = prune(before)!
    const memories = Transcript.entries(after).flatMap((entry) => entry.memory === undefined ? [] : [entry.memory])
    assert.deepStrictEqual(memories, [memory])
  })

  it("replaces the same output by the same note, so that the prefix stays cached", () => {
    assert.deepStrictEqual(results(prune(worked(10), 0)!), results(prune(prune(worked(10))!, 0)!))
  })
})
