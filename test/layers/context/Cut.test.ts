/** Where a conversation is cut in two. */
import { assert, it } from "@effect/vitest"
import * as Cut from "../../../src/layers/context/Cut.ts"
import * as Message from "../../../src/run/Message.ts"
import * as Transcript from "../../../src/run/Transcript.ts"
import * as Draft from "../../support/Drafts.ts"
import * as Views from "../../support/Views.ts"

it.each([
  ["tokens", { messages: 100, tokens: 1 }],
  ["messages, fewer than it has,", { messages: 1, tokens: Infinity }],
  ["messages, none at all,", { messages: 0, tokens: Infinity }]
])("the last exchange is never cut off, however little room there is for %s", (_, keep) => {
  const worked = Transcript.fromLog(Draft.log(
    Draft.started("go"),
    ...[1, 2, 3].flatMap((turn) => [
      Draft.turnStarted(turn),
      Draft.assistant([Draft.call("work", { turn })], { turn }),
      Draft.settled(`${turn}.0`, "x".repeat(2_000)),
      Draft.turnFinished(turn)
    ])
  ))
  const cut = Cut.make(Views.view(worked, { force: "overflow" }), keep)
  assert.deepStrictEqual(cut?.left, Transcript.messages(worked).slice(1, -2))
})

it("words without an answer before the latest ones go when the turn that these began is still open", () => {
  const working = Transcript.fromLog(Draft.log(
    Draft.started("x".repeat(4_000)),
    Draft.input("go"),
    Draft.turnStarted(1),
    Draft.assistant([Draft.call("work")])
  ))
  const cut = Cut.make(Views.view(working, { force: "overflow" }), { messages: 100, tokens: 1 })
  assert.deepStrictEqual(cut?.left, [Message.user("x".repeat(4_000))])
})

it("what is remembered, instructions and tools count towards what may still be sent", () => {
  const text = "m".repeat(4_000)
  const transcript = Transcript.fromLog(Draft.log(
    Draft.started("hello"),
    Draft.assistant([Message.text("hi")]),
    Draft.turnFinished(1),
    { ...Draft.compacted(0, []), memory: { text, data: null } },
    Draft.input("x".repeat(400)),
    Draft.input("go")
  ))
  const left = (limit: number, fixed = 0) =>
    Cut.make(Views.view(transcript, { fixed, limit }), { messages: 1, tokens: Infinity })?.left ?? []
  const all = Views.tokens(transcript)
  assert.notDeepInclude(left(all), Message.user("x".repeat(400)))
  assert.deepInclude(left(1_000), Message.user("x".repeat(400)))
  assert.deepInclude(left(all, 500), Message.user("x".repeat(400)))
})

it("messages that fill the room exactly stay", () => {
  const log = Draft.log(
    Draft.started("one"),
    ...[1, 2, 3].flatMap((turn) => [
      Draft.assistant([Message.text(`answer ${turn}`)], { turn }),
      Draft.turnFinished(turn),
      Draft.input(`question ${turn}`)
    ])
  )
  const view = Views.view(Transcript.fromLog(log))
  const newest = Transcript.messages(view.transcript).slice(-3)
  const tokens = newest.reduce((sum, message) => sum + view.size.of(message), 0)
  const left = (tokens: number) => Cut.make(view, { messages: 100, tokens })?.left.length
  assert.deepStrictEqual([left(tokens), left(tokens - 1)], [4, 5])
})
