/** A transcript is the fold of its log, whoever else appends to it; `size`, `entries` and `awaitsModel` agree. */
import { assert, describe, it } from "@effect/vitest"
import * as Equal from "effect/Equal"
import * as Message from "../../src/run/Message.ts"
import * as Transcript from "../../src/run/Transcript.ts"
import * as Brief from "../support/Brief.ts"
import * as Draft from "../support/Drafts.ts"
import * as Logs from "../support/Logs.ts"
import { dice, models } from "../support/Odd.ts"

const check = (runs: number) => ({ arbitrary: { runs, size: 60, seed: "transcript" } })

const bytes = (transcript: Transcript.Transcript) =>
  [undefined, ...models].map((reader) => JSON.stringify(Transcript.messages(transcript, reader)))

/** The messages that entries stand for: neighbours with one role are one message. */
const roles = (messages: ReadonlyArray<Message.Message>) =>
  messages.map((message) => message.role).filter((role, i, all) => role !== all[i - 1])

describe("append", () => {
  it.prop("gives the same as folding the log, after every event", [Logs.odd], ([{ log }]) => {
    let transcript = Transcript.empty
    log.forEach((event, i) => {
      transcript = Transcript.append(transcript, event)
      assert.deepStrictEqual(bytes(transcript), bytes(Transcript.fromLog(log.slice(0, i + 1))))
    })
  }, check(250))

  it.prop("leaves every older version unchanged", [Logs.odd], ([{ log }]) => {
    const versions = [Transcript.empty]
    const before = [bytes(Transcript.empty)]
    for (const event of log) {
      const next = Transcript.append(versions.at(-1)!, event)
      versions.push(next)
      before.push(bytes(next))
    }
    assert.deepStrictEqual(versions.map(bytes), before)
  }, check(150))

  it.prop(
    "to an old version disturbs neither it nor the newer ones",
    [Logs.odd, Logs.odd, Logs.seed],
    ([first, second, seed]) => {
      const die = dice(seed)
      const branches = [{ log: [] as Logs.Log, transcript: Transcript.empty }]
      for (let i = 0; i < 40; i++) {
        const from = die.pick(branches)
        const event = die.pick([...first.log, ...second.log])
        branches.push({ log: [...from.log, event], transcript: Transcript.append(from.transcript, event) })
      }
      for (const { log, transcript } of branches) {
        assert.deepStrictEqual(bytes(transcript), bytes(Transcript.fromLog(log)))
      }
    },
    check(150)
  )

  it.prop("changes no event", [Logs.odd], ([{ log }]) => {
    const before = JSON.stringify(log)
    const transcript = Transcript.fromLog(log)
    Transcript.messages(transcript, models[0])
    assert.strictEqual(JSON.stringify(log), before)
  }, check(100))

  it.prop("gives the same bytes for a log that was stored and read back", [Logs.odd], ([{ log }]) => {
    assert.deepStrictEqual(bytes(Transcript.fromLog(log)), bytes(Transcript.fromLog(JSON.parse(JSON.stringify(log)))))
  }, check(100))
})

describe("views", () => {
  it.prop("size counts the entries", [Logs.odd], ([{ log }]) => {
    for (let n = 0; n <= log.length; n++) {
      const transcript = Transcript.fromLog(log.slice(0, n))
      assert.strictEqual(Transcript.size(transcript), Transcript.entries(transcript).length)
    }
  }, check(100))

  it.prop("entries, with neighbours of one role joined, are the messages", [Logs.tidy], ([{ log }]) => {
    for (let n = 0; n <= log.length; n++) {
      const transcript = Transcript.fromLog(log.slice(0, n))
      const expected = roles(Transcript.entries(transcript).map((entry) => entry.message))
      const messages = Transcript.messages(transcript, models[0])
      const opening = expected.length > 0 && expected[0] !== "user" ? ["user"] : []
      assert.deepStrictEqual(messages.map((message) => message.role), [...opening, ...expected])
    }
  }, check(150))

  it.prop(
    "a model is awaited when the last message is a user's or a tool's, or a model goes on with it",
    [Logs.odd],
    ([{ log }]) => {
      for (let n = 0; n <= log.length; n++) {
        const transcript = Transcript.fromLog(log.slice(0, n))
        const last = Transcript.messages(transcript, models[0]).at(-1)
        const isPaused = last?.role === "assistant" && models.some((model) => Transcript.isPausedFor(transcript, model))
        assert.strictEqual(
          Transcript.awaitsModel(transcript),
          isPaused || last?.role === "user" || last?.role === "tool"
        )
      }
    },
    check(150)
  )

  it.prop("before its open turn is what its model was sent", [Logs.tidy], ([{ log }]) => {
    let last: { readonly model: object; readonly sent: ReadonlyArray<unknown> } | undefined
    /** another model than the one that was paused is told to go on */
    const sentTo = (transcript: Transcript.Transcript, reader: Message.ModelRef) => {
      const messages = Transcript.messages(transcript, reader)
      return Transcript.awaitsModel(transcript) ? Transcript.prompt(transcript, reader, messages).messages : messages
    }
    log.forEach((event, i) => {
      const transcript = Transcript.fromLog(log.slice(0, i + 1))
      if (event._tag === "AssistantMessage" && last !== undefined && Equal.equals(last.model, event.model)) {
        assert.deepStrictEqual(Transcript.messages(Transcript.beforeTurn(transcript), event.model), last.sent)
      }
      last = event._tag === "TurnStarted"
        ? { model: event.model, sent: sentTo(transcript, event.model) }
        : undefined
    })
  }, check(150))

  it("an empty session has no messages and awaits nobody", () => {
    assert.deepStrictEqual(Transcript.messages(Transcript.empty), [])
    assert.strictEqual(Transcript.size(Transcript.empty), 0)
    assert.isFalse(Transcript.awaitsModel(Transcript.empty))
  })
})

describe("what was said", () => {
  const read = (...drafts: ReadonlyArray<Draft.Placed>) =>
    Brief.messages(Transcript.said(Transcript.fromLog(Draft.log(...drafts))))

  it("has no reasoning", () => {
    const content: ReadonlyArray<Message.AssistantPart> = [{ type: "reasoning", text: "hm" }, Message.text("Hello")]
    assert.deepStrictEqual(read(Draft.started("Hi"), Draft.assistant(content)), ["user: Hi", "assistant: Hello"])
  })

  it("begins with the answer that a history begins with", () => {
    const history: ReadonlyArray<Message.AssistantMessage> = [{ role: "assistant", content: [Message.text("Welcome")] }]
    assert.deepStrictEqual(read(Draft.started("Hi", { history })), ["assistant: Welcome", "user: Hi"])
  })

  it("has an answer that was paused, and that another model went on with, as one", () => {
    const log = [
      Draft.started("Hi"),
      Draft.turnStarted(1),
      Draft.assistant([Message.text("Let me see")], { finishReason: "pause" }),
      { ...Draft.turnFinished(1), decision: { _tag: "Continue" as const, reason: "pause" as const } },
      Draft.turnStarted(2),
      Draft.assistant([Message.text("Hello")], { turn: 2, model: { provider: "test", name: "other" } })
    ]
    assert.deepStrictEqual(read(...log), ["user: Hi", "assistant: Let me see,Hello"])
  })
})
