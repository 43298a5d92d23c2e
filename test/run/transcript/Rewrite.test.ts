/** Guarantee 4 after a hook: whatever it does to a transcript's messages, what is sent is legal. */
import { assert, describe, it } from "@effect/vitest"
import * as Message from "../../../src/run/Message.ts"
import * as Transcript from "../../../src/run/Transcript.ts"
import * as Rewrite from "../../../src/run/transcript/Rewrite.ts"
import * as StrictModel from "../../../src/testing/StrictModel.ts"
import * as Logs from "../../support/Logs.ts"
import { dice, models } from "../../support/Odd.ts"
import * as Parts from "../../support/Parts.ts"
import * as Requests from "../../support/Requests.ts"

const check = (runs: number) => ({ arbitrary: { runs, size: 60, seed: "rewrite" } })

const violations = (messages: ReadonlyArray<Message.Message>) => StrictModel.violations(Requests.request(messages))

/** What anybody's code may do to messages: drops, duplicates, reorders and adds, in part or throughout. */
const mangled = (messages: ReadonlyArray<Message.Message>, seed: number): ReadonlyArray<Message.Message> => {
  const taste = { dice: dice(seed), oddness: 0.5 }
  const { dice: d } = taste
  const kept = messages.flatMap((message) => {
    if (d.chance(0.15)) return []
    if (d.chance(0.1)) return [message, message]
    if (d.chance(0.1)) return [...Parts.replacement(taste, "made"), message]
    if (d.chance(0.1) && message.role === "assistant") return [{ ...message, content: message.content.slice(1) }]
    if (d.chance(0.1) && message.role === "tool") return [{ ...message, content: message.content.toReversed() }]
    return [message]
  })
  return d.chance(0.1) ? kept.toReversed() : kept
}

describe("what a hook makes of a transcript's messages", () => {
  it.prop("is legal afterwards", [Logs.odd, Logs.seed], ([{ log }, seed]) => {
    const messages = Transcript.messages(Transcript.fromLog(log), models[0], { role: "system", content: "be brief" })
    assert.deepStrictEqual(violations(Rewrite.legal(mangled(messages, seed), messages)), [])
  }, check(1000))

  it("may be nothing at all", () => {
    assert.deepStrictEqual(violations(Rewrite.legal([], [])), [])
    assert.deepStrictEqual(violations(Rewrite.legal([{ role: "system", content: "only" }], [])), [])
  })

  it("may end with the assistant's own words", () => {
    const messages: ReadonlyArray<Message.Message> = [
      Message.user("hello"),
      { role: "assistant", content: [Message.text("hi")] }
    ]
    assert.deepStrictEqual(violations(Rewrite.legal(messages, messages)), [])
  })
})

describe("reasoning", () => {
  const thought: Message.ReasoningPart = { type: "reasoning", text: "hm", metadata: { scripted: { signature: "s" } } }
  const before: ReadonlyArray<Message.Message> = [
    Message.user("hello"),
    { role: "assistant", content: [thought, Message.text("hi")] },
    Message.user("and?")
  ]
  const thoughts = (messages: ReadonlyArray<Message.Message>) =>
    messages.flatMap(({ content }) => Array.isArray(content) ? content.filter((part) => part.type === "reasoning") : [])

  it("stays if it was not touched, even in a copy", () => {
    assert.deepStrictEqual(thoughts(Rewrite.legal(structuredClone(before) as never, before)), [thought])
  })

  it("is left out if it was edited, or comes from elsewhere", () => {
    const edited = JSON.parse(JSON.stringify(before).replace("hm", "ha"))
    assert.deepStrictEqual(thoughts(Rewrite.legal(edited, before)), [])
    assert.deepStrictEqual(thoughts(Rewrite.legal(before, [])), [])
  })
})

it("a longer conversation changed in the same way begins with the same bytes", () => {
  const turn = (n: number): ReadonlyArray<Message.Message> => [
    { role: "assistant", content: [{ type: "tool-call", id: `call_${n}`, name: "look", params: { n } }] },
    { role: "tool", content: [{ type: "tool-result", id: `call_${n}`, name: "look", result: n, isFailure: false }] }
  ]
  const short = [Message.user("go"), ...turn(1), ...turn(2)]
  const long = [...short, ...turn(3)]
  const sent = Rewrite.legal(short, short)
  assert.deepStrictEqual(Rewrite.legal(long, long).slice(0, sent.length), sent)
})

it("the calls of a conversation of 1,400 turns have ids of nine letters and digits, as Mistral requires, and each its own", () => {
  const turn = (n: number): ReadonlyArray<Message.Message> => {
    const call = { id: `call_${n}`, name: "look" }
    return [
      { role: "assistant", content: [Message.text("I look."), { type: "tool-call", params: { n }, ...call }] },
      { role: "tool", content: [{ type: "tool-result", result: n, isFailure: false, ...call }] }
    ]
  }
  const messages = [Message.user("go"), ...Array.from({ length: 1_400 }, (_, n) => turn(n)).flat()]
  const sent = Rewrite.legal(messages, messages)
  assert.deepStrictEqual(violations(sent), [])
  const calls = sent.flatMap((message) => message.role === "assistant" ? Message.toolCalls(message.content) : [])
  assert.lengthOf(calls, 1_400)
  assert.deepStrictEqual(calls.filter(({ id }) => !/^[a-zA-Z0-9]{9}$/.test(id)), [])
})
