/** Where a conversation is cut in two. */
import { assert, describe, it } from "@effect/vitest"
import * as Cut from "../../../src/layers/context/Cut.ts"
import * as Message from "../../../src/run/Message.ts"
import type * as RunEvent from "../../../src/run/RunEvent.ts"
import * as Transcript from "../../../src/run/Transcript.ts"
import * as Usage from "../../../src/run/Usage.ts"
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

describe("what the run was given", () => {
  const task = Message.user("compare all pages")
  const hurry = Message.user("please hurry")

  /** So many turns, each with the output of a tool. */
  const turns = (from: number, to: number): ReadonlyArray<RunEvent.Draft> =>
    Array.from({ length: to - from + 1 }, (_, i) => from + i).flatMap((turn) => [
      Draft.turnStarted(turn),
      Draft.assistant([Draft.call("work", { turn })], { turn }),
      Draft.settled(`${turn}.0`, `output ${turn} ${"x".repeat(400)}`),
      Draft.turnFinished(turn)
    ])

  const saidIn = (transcript: Transcript.Transcript) =>
    Transcript.entries(transcript).flatMap(({ message }) => message.role === "user" ? message.content : [])

  it("stays word for word beside what was said to it later, however often the conversation is cut", () => {
    let transcript = Transcript.fromLog(Draft.log(
      Draft.started("before"),
      Draft.assistant([Message.text("yes?")]),
      Draft.turnFinished(1),
      Draft.started("compare all pages"),
      ...turns(1, 4),
      Draft.input("please hurry"),
      ...turns(5, 12)
    ))
    for (let n = 0; n < 3; n++) {
      const view = Views.view(transcript, { force: "overflow", input: [task] })
      const cut = Cut.make(view, { messages: Math.floor(Transcript.size(transcript) * 0.7), tokens: Infinity })
      transcript = Views.after(transcript, { strategy: "s", usage: Usage.zero, ...cut! }, 10_000 + n)
      assert.deepStrictEqual(saidIn(transcript), [...task.content, ...hurry.content])
    }
  })

  it("takes its room from what stays of the rest", () => {
    const transcript = Transcript.fromLog(Draft.log(
      Draft.started("x".repeat(1_200)),
      ...turns(1, 6),
      Draft.input("please hurry"),
      ...turns(7, 8)
    ))
    const input = [Message.user("x".repeat(1_200))]
    const view = Views.view(transcript, { input, limit: 1_000 })
    const cut = Cut.make(view, { messages: 100, tokens: 700 })
    const after = Views.after(transcript, { strategy: "s", usage: Usage.zero, ...cut! })
    assert.deepStrictEqual(saidIn(after), [...input[0]!.content, ...hurry.content])
    assert.isAtMost(Views.tokens(after), 1_000)
  })

  it("goes where it would take more than half of the room, and the newest part stays as it was", () => {
    const transcript = Transcript.fromLog(Draft.log(
      Draft.started("x".repeat(1_600)),
      ...turns(1, 6),
      Draft.input("please hurry"),
      ...turns(7, 8)
    ))
    const keep = { messages: 100, tokens: 700 }
    const cut = (input?: ReadonlyArray<Message.UserMessage>) =>
      Cut.make(Views.view(transcript, { input, limit: 1_000 }), keep)
    assert.deepStrictEqual(cut([Message.user("x".repeat(1_600))]), cut())
  })

  it("leaves room for turns to come, so that each of them does not need a cut of its own", () => {
    const transcript = Transcript.fromLog(Draft.log(
      Draft.started("x".repeat(1_200)),
      ...turns(1, 6),
      Draft.input("please hurry"),
      ...turns(7, 8)
    ))
    const view = Views.view(transcript, { input: [Message.user("x".repeat(1_200))], limit: 1_000 })
    const cut = Cut.make(view, { messages: 100, tokens: 990 })
    assert.isAtMost(Views.tokens(Views.after(transcript, { strategy: "s", usage: Usage.zero, ...cut! })), 700)
  })

  it("goes where the last exchange leaves too little room for turns to come", () => {
    const transcript = Transcript.fromLog(Draft.log(
      Draft.started("x".repeat(1_200)),
      ...turns(1, 3),
      Draft.input("please hurry"),
      Draft.turnStarted(4),
      Draft.assistant([Draft.call("work", {})], { turn: 4 }),
      Draft.settled("4.0", "x".repeat(1_800))
    ))
    const keep = { messages: 100, tokens: 700 }
    const cut = (input?: ReadonlyArray<Message.UserMessage>) =>
      Cut.make(Views.view(transcript, { input, limit: 1_000 }), keep)
    assert.deepStrictEqual(cut([Message.user("x".repeat(1_200))]), cut())
    assert.notDeepEqual(cut([Message.user("x")]), undefined)
  })

  it("goes where it is a large part of what a provider refused, and no window is known", () => {
    const transcript = Transcript.fromLog(Draft.log(
      Draft.started("x".repeat(1_600)),
      ...turns(1, 4),
      Draft.input("please hurry"),
      ...turns(5, 5)
    ))
    const input = [Message.user("x".repeat(1_600))]
    const isLeft = (options: Views.Options = {}) =>
      Cut.make(Views.view(transcript, { input, ...options }), { messages: 6, tokens: Infinity })!.left.some((
        { content }
      ) => JSON.stringify(content) === JSON.stringify(input[0]!.content))
    assert.deepStrictEqual([isLeft(), isLeft({ force: "overflow" })], [false, true])
  })

  it("goes where it would be a message more, and the context no smaller", () => {
    const long = "x".repeat(4_000)
    const transcript = Transcript.fromLog(
      Draft.log(Draft.started("task"), Draft.input("y"), Draft.input(long))
    )
    const keep = { messages: 100, tokens: Infinity }
    const cut = Cut.make(Views.view(transcript, { input: [Message.user("task")] }), keep)
    assert.deepStrictEqual(cut?.replacement, [Message.user(long)])
  })

  it("goes, and no answer whose calls are open does for what was said beside it", () => {
    const transcript = Transcript.fromLog(Draft.log(
      Draft.started("compare all pages"),
      Draft.turnStarted(1),
      Draft.assistant([Draft.call("work", {})], { turn: 1 }),
      Draft.input("x".repeat(4_000)),
      Draft.input("please hurry")
    ))
    const view = Views.view(transcript, { input: [task], limit: 500 })
    assert.strictEqual(Cut.make(view, { messages: 100, tokens: 300 })?.upTo, 1)
  })

  it("goes where the strategy needs more to be left out", () => {
    const transcript = Transcript.fromLog(Draft.log(
      Draft.started("compare all pages"),
      ...turns(1, 1),
      Draft.input("please hurry"),
      ...turns(2, 2)
    ))
    const left = (least: number) =>
      Cut.make(
        Views.view(transcript, { input: [task] }),
        { messages: 3, tokens: Infinity },
        ({ left }) => left.length >= least
      )?.left.length
    assert.deepStrictEqual([left(1), left(3)], [2, 3])
  })

  it("stays though it is most of what was said, where messages are too many and not too long", () => {
    const input = [Message.user("x".repeat(4_000))]
    const transcript = Transcript.fromLog(Draft.log(
      Draft.started("x".repeat(4_000)),
      ...turns(1, 3),
      Draft.input("please hurry"),
      ...turns(4, 6)
    ))
    for (const limit of [{}, { limit: 100_000 }]) {
      const cut = Cut.make(Views.view(transcript, { input, ...limit }), { messages: 6, tokens: Infinity })
      assert.deepStrictEqual(cut?.replacement, [...input, hurry])
    }
  })

  it("counts as one of the messages that stay", () => {
    const transcript = Transcript.fromLog(Draft.log(
      Draft.started("compare all pages"),
      ...turns(1, 3),
      Draft.input("please hurry"),
      ...turns(4, 9)
    ))
    const keep = { messages: 8, tokens: Infinity }
    const left = (input?: ReadonlyArray<Message.UserMessage>) =>
      Transcript.size(Views.after(transcript, {
        strategy: "s",
        usage: Usage.zero,
        ...Cut.make(Views.view(transcript, { input }), keep)!
      }))
    assert.isAtMost(left([task]), left())
  })

  it("goes where it does not fit beside what was said last, which stays", () => {
    const transcript = Transcript.fromLog(Draft.log(
      Draft.started("x".repeat(4_000)),
      ...turns(1, 2),
      Draft.input("please hurry")
    ))
    const input = [Message.user("x".repeat(4_000))]
    const cut = Cut.make(Views.view(transcript, { input, limit: 1_000 }), { messages: 100, tokens: 700 })
    assert.deepStrictEqual(cut?.left[0], input[0])
    assert.notDeepInclude(cut!.left, hurry)
  })

  it("goes where nothing else can, though the context must become smaller and no window is known", () => {
    const transcript = Transcript.fromLog(Draft.log(Draft.started("compare all pages"), Draft.input("please hurry")))
    const keep = { messages: 100, tokens: Infinity }
    for (const force of ["overflow", "length"] as const) {
      const cut = Cut.make(Views.view(transcript, { force, input: [task] }), keep)
      assert.deepStrictEqual([cut?.left, cut?.replacement], [[task], [hurry]])
    }
  })

  it("stays where unanswered words around it do not fit", () => {
    const long = Message.user("x".repeat(4_000))
    const transcript = Transcript.fromLog(Draft.log(
      Draft.started("x".repeat(4_000)),
      Draft.started("compare all pages"),
      Draft.input("x".repeat(4_000)),
      Draft.input("please hurry")
    ))
    const cut = Cut.make(Views.view(transcript, { input: [task], limit: 1_000 }), { messages: 100, tokens: 700 })
    assert.deepStrictEqual([cut?.left, cut?.replacement], [[long, long], [task, hurry]])
  })
})
