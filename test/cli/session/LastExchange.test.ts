/** What was said last in a session, found from the end of its log. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import * as LastExchange from "../../../src/cli/session/LastExchange.ts"
import * as Message from "../../../src/run/Message.ts"
import type * as RunEvent from "../../../src/run/RunEvent.ts"
import * as Drafts from "../../support/Drafts.ts"
import * as TestStore from "../../support/TestStore.ts"

/** That of a session with these events, and how many events were read for it. */
const last = Effect.fnUntraced(function*(...drafts: ReadonlyArray<RunEvent.Draft>) {
  const { service: store } = yield* TestStore.make()
  yield* Effect.scoped(Effect.flatMap(
    store.open("s", { runId: "run-1", create: true }),
    (session) => session.append(Drafts.log(...drafts) as never)
  ))
  let read = 0
  const counted: typeof store.read = (...range) => Stream.tap(store.read(...range), () => Effect.sync(() => read++))
  const [info] = yield* store.list()
  const said = yield* LastExchange.of({ store: { ...store, read: counted }, info: info! })
  return { said: said && { ...said, question: said.question.flatMap(textsOf) }, read }
})

const textsOf = ({ content }: Message.UserMessage) =>
  content.map((part) => part.type === "text" ? part.text : part.type)
const says = (text: string) => Drafts.assistant([Message.text(text)])
const aborted = (...unfinished: ReadonlyArray<string>): RunEvent.Draft => ({
  ...Drafts.aborted,
  ...unfinished.length === 0 ? {} : { unfinished }
})
const more = (events: number) => Array.from({ length: events }, () => Drafts.notice("more"))
const page = { type: "url", url: "https://a.test/" } as const

describe("the last exchange of a session", () => {
  it.effect("is what the user said last, to a run under way too, and the last answer to it", () =>
    Effect.gen(function*() {
      const { said } = yield* last(Drafts.started("go"), says("One."), Drafts.input("shorter"), says("Two."), says(" "))
      assert.deepStrictEqual(said, { question: ["shorter"], answer: "Two.", isCutOff: false, sources: [] })
    }))

  it.effect("has no answer to words that were said after it", () =>
    Effect.gen(function*() {
      const { said } = yield* last(Drafts.started("go"), says("One."), Drafts.input("shorter"), ...more(450), aborted())
      assert.deepStrictEqual(said, { question: ["shorter"], answer: "", isCutOff: false, sources: [] })
    }))

  it.effect("has the answer that an end cut off", () =>
    Effect.gen(function*() {
      const { said } = yield* last(Drafts.started("go"), says("One."), aborted("Tw"))
      assert.deepStrictEqual(said, { question: ["go"], answer: "Tw", isCutOff: true, sources: [] })
    }))

  it.effect("has what its answer rests on, and nothing of what others do", () =>
    Effect.gen(function*() {
      const rests: RunEvent.Draft = { ...says("One."), sources: [page] }
      assert.deepStrictEqual((yield* last(Drafts.started("go"), says("No."), rests)).said?.sources, [page])
      assert.deepStrictEqual((yield* last(Drafts.started("go"), rests, says("Two."))).said?.sources, [])
      assert.deepStrictEqual((yield* last(Drafts.started("go"), rests, aborted("Tw"))).said?.sources, [])
    }))

  for (const events of [198, 199, 450]) {
    it.effect(`is found where ${events} events follow its question and its answer`, () =>
      Effect.gen(function*() {
        const { said } = yield* last(
          Drafts.started("go"),
          says("No."),
          Drafts.input("now"),
          says("One."),
          ...more(events)
        )
        assert.deepStrictEqual([said?.question, said?.answer], [["now"], "One."])
      }))
  }

  it.effect("takes the words that a long run began with where none are near its answer, without reading all of it", () =>
    Effect.gen(function*() {
      const { read, said } = yield* last(Drafts.started("go"), Drafts.input("now"), ...more(5_000), says("One."))
      assert.deepStrictEqual([said?.question, said?.answer], [["go"], "One."])
      assert.strictEqual(read, 2_001)
    }))

  it.effect("reads no more than the end of a log where the words are there", () =>
    Effect.gen(function*() {
      const { read } = yield* last(Drafts.started("go"), ...more(5_000), Drafts.input("now"), says("One."))
      assert.strictEqual(read, 200)
    }))

  it.effect("is the latest answer, however far from its question", () =>
    Effect.gen(function*() {
      const { said } = yield* last(Drafts.started("go"), says("One."), ...more(450), says("Two."))
      assert.deepStrictEqual([said?.question, said?.answer], [["go"], "Two."])
    }))

  it.effect("is an old answer in a run that has been silent since", () =>
    Effect.gen(function*() {
      const { said } = yield* last(Drafts.started("go"), says("One."), ...more(2_500))
      assert.deepStrictEqual([said?.question, said?.answer], [["go"], "One."])
    }))

  it.effect("is nothing where no run was started", () =>
    Effect.gen(function*() {
      assert.isUndefined((yield* last(...more(3))).said)
    }))
})
