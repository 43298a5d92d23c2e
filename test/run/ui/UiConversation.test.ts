/** What a page begins with is what the AI SDK made of earlier runs. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Message from "../../../src/run/Message.ts"
import * as RunEvent from "../../../src/run/RunEvent.ts"
import * as ScriptedModel from "../../../src/testing/ScriptedModel.ts"
import * as Drafts from "../../../src/testing/sessions/Drafts.ts"
import * as Logs from "../../support/Logs.ts"
import * as TestAgent from "../../support/TestAgent.ts"
import * as UiPage from "../../support/UiPage.ts"

const { text } = ScriptedModel

describe("a session on a page", () => {
  /** The facts of each run. */
  const runsOf = (log: Logs.Log) => {
    const runs = new Map<string, Array<RunEvent.Durable>>()
    for (const event of log) runs.set(event.runId, [...(runs.get(event.runId) ?? []), event])
    return [...runs.values()]
  }

  /** The AI SDK says nothing of a step that begins before there is something in it. */
  const said = (
    message: { readonly id: string; readonly parts: ReadonlyArray<{ readonly type: string }> } | undefined
  ) => {
    const { id = "", parts = [] } = message ?? {}
    const end = parts.findLastIndex(({ type }) => type !== "step-start")
    return end < 0 ? [] : [UiPage.plain({ id, parts: parts.slice(0, end + 1) })]
  }

  it.effect("begins with everything that the session began with, in order", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* TestAgent.make([text("Fine.")])
      const history = [{ role: "user", content: "Hi" }, { role: "assistant", content: "Hello." }] as const
      const file = {
        type: "file",
        mediaType: "image/png",
        data: "https://a.test/sky.png",
        fileName: "sky.png"
      } as const
      const input = [{ role: "user", content: [file] }, { role: "user", content: "How are you?" }] as const
      yield* agent.run({ sessionId: "s", runId: "r", history, input })
      const messages = yield* UiPage.opened(yield* store.log("s"))
      assert.deepStrictEqual(messages.map((message) => [message.id, message.role, ...UiPage.brief(message)]), [
        ["r:history:0", "user", "text: Hi"],
        ["r:history:1", "assistant", "text: Hello."],
        ["r:0", "user", "file image/png https://a.test/sky.png"],
        ["r", "user", "text: How are you?"],
        ["r:answer", "assistant", "step-start", "text: Fine."]
      ])
      assert.deepInclude(messages[2]!.parts[0], { filename: "sky.png" })
    }))

  it.effect("begins with failed calls as failed if nobody was asked, even if two have one id", () =>
    Effect.gen(function*() {
      const log = Drafts.log(
        Drafts.started("go"),
        Drafts.turnStarted(1),
        Drafts.assistant([Drafts.call("work"), Drafts.call("work")]),
        Drafts.settled("1.0", { _tag: "Denied", reason: "no" }),
        Drafts.settled("1.1", { _tag: "Denied", reason: "no" })
      )
      const [, answer] = yield* UiPage.opened(log)
      assert.deepStrictEqual(UiPage.brief(answer).slice(1), [
        "tool-work {} output-error Denied: no",
        "tool-work {} output-error Denied: no"
      ])
    }))

  it.effect("keeps what a person said about a call that ran with other arguments", () =>
    Effect.gen(function*() {
      const log = Drafts.log(
        Drafts.started("go"),
        Drafts.turnStarted(1),
        Drafts.assistant([Drafts.call("search", { n: 1 })]),
        Drafts.approvalRequested("1.0"),
        { ...Drafts.approvalResolved("1.0"), reason: "two will do" },
        Drafts.settled("1.0", "seen", { edited: { n: 2 } })
      )
      const [, answer] = yield* UiPage.opened(log)
      assert.deepStrictEqual<unknown>(UiPage.plain(answer?.parts.at(-1)), {
        type: "tool-search",
        toolCallId: "run-1/1.0",
        state: "output-available",
        input: { n: 2 },
        output: "seen",
        approval: { id: "1.0", approved: true, reason: "two will do" }
      })
      const { last } = yield* UiPage.read(yield* UiPage.chunksOf(Stream.fromIterable(log)))
      assert.deepStrictEqual(UiPage.plain(answer), UiPage.plain(last))
    }))

  it.effect("has the files that its model made", () =>
    Effect.gen(function*() {
      const file = { type: "file", mediaType: "image/png", data: "aGk=" } as const
      const [, answer] = yield* UiPage.opened(Drafts.log(Drafts.started("go"), Drafts.assistant([file])))
      assert.deepStrictEqual(UiPage.brief(answer), ["file image/png data:image/png;base64,aGk="])
    }))

  it.effect.each<readonly [string, string]>([
    ["in the alphabet of URLs, without padding", "AAEC-_"],
    ["with line breaks", "AAEC\r\n+/=="],
    ["in a data URL, in the alphabet of URLs", "data:image/png;base64,AAEC-_"]
  ])("has an address that browsers can read for a file whose base64 is %s", ([, data]) =>
    Effect.gen(function*() {
      const file = { type: "file", mediaType: "image/png", data } as const
      const [asked, answer] = yield* UiPage.opened(
        Drafts.log({ ...Drafts.started("go"), input: Drafts.effective([file]) }, Drafts.assistant([file]))
      )
      for (const message of [asked, answer]) {
        assert.deepStrictEqual(UiPage.brief(message), ["file image/png data:image/png;base64,AAEC+/=="])
      }
    }))

  it.effect("has no answer yet if nothing was said in the turn under way", () =>
    Effect.gen(function*() {
      const messages = yield* UiPage.opened(Drafts.log(Drafts.started("go"), Drafts.turnStarted(1)))
      assert.deepStrictEqual(messages.map(({ role }) => role), ["user"])
    }))

  it.effect("leaves out what its log says about calls that it does not have", () =>
    Effect.gen(function*() {
      const log = Drafts.log(
        Drafts.started("go"),
        Drafts.assistant([Message.text("Well.")]),
        Drafts.approvalRequested("1.0"),
        Drafts.approvalResolved("1.0"),
        Drafts.settled("1.0", "seen")
      )
      const [, answer] = yield* UiPage.opened(log)
      assert.deepStrictEqual(Object.keys(answer!.parts), ["0"])
    }))

  /** What a run that goes on by itself had said is no part of what it showed: see below. */
  const asShown = (event: RunEvent.Durable): RunEvent.Durable =>
    RunEvent.isEnd(event) && RunEvent.isLeft(event) ? { ...event, unfinished: [] } as RunEvent.Durable : event

  it.effect.prop("begins with what its runs showed", [Logs.tidy], ([session]) =>
    Effect.gen(function*() {
      const log = session.log.map(asShown)
      const messages = yield* UiPage.opened(log)
      const answers = messages.filter(({ id }) => id.endsWith(":answer"))
      const shown = yield* Effect.forEach(runsOf(log), (run) =>
        Effect.map(
          Effect.flatMap(UiPage.chunksOf(Stream.fromIterable(run)), (chunks) => UiPage.read(chunks)),
          ({ last }) => last
        ))
      assert.deepStrictEqual(answers.flatMap(said), shown.flatMap(said))
      yield* Effect.forEach(shown.filter((message) => said(message).length > 0), UiPage.accepted)
      assert.strictEqual(new Set(messages.map(({ id }) => id)).size, messages.length)
    }), { arbitrary: { runs: 400, seed: "pages" } })

  it.effect.prop(
    "can be read whatever its log contains",
    [Logs.odd, Logs.seed],
    ([{ log }, seed]) =>
      Effect.gen(function*() {
        const part = Logs.subsequence(log, seed)
        assert.isArray(yield* UiPage.opened(part))
        assert.isArray(yield* UiPage.chunksOf(Stream.fromIterable(part)))
      }),
    { arbitrary: { runs: 100, seed: "odd pages" } }
  )

  const begun = [Drafts.started("count"), Drafts.turnStarted(1)]
  const cut = { ...Drafts.aborted, unfinished: ["one, two"] }
  const again = [
    Drafts.resumed(2),
    Drafts.turnStarted(2),
    Drafts.assistant([Message.text("1, 2, 3")], { turn: 2 }),
    Drafts.turnFinished(2),
    Drafts.completed()
  ]
  const briefOf = (log: ReadonlyArray<RunEvent.Durable>) =>
    Effect.map(UiPage.opened(log), (messages) => messages.flatMap(UiPage.brief))

  it.effect("has an answer that was cut off, without what its run, which went on, said anew", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* briefOf(Drafts.log(...begun, cut)), [
        "text: count",
        "step-start",
        "text: one, two"
      ])
      assert.deepStrictEqual(yield* briefOf(Drafts.log(...begun, cut, ...again)), [
        "text: count",
        "step-start",
        "step-start",
        "text: 1, 2, 3"
      ])
    }))

  it.effect("has one whose run goes on by itself only once another run follows: who joins it gets the answer whole", () =>
    Effect.gen(function*() {
      const left: Drafts.Placed = { ...cut, reason: "shutdown" }
      assert.deepStrictEqual(yield* briefOf(Drafts.log(...begun, left)), ["text: count"])
      assert.deepStrictEqual(yield* briefOf(Drafts.log(...begun, left, { ...Drafts.started("on"), runId: "run-2" })), [
        "text: count",
        "step-start",
        "text: one, two",
        "text: on"
      ])
    }))

  it.effect("has a question as one where its run was shut down meanwhile, until somebody answers", () =>
    Effect.gen(function*() {
      const calls = Drafts.assistant([Drafts.call("search"), Drafts.call("search")])
      const asked = [...begun, calls, Drafts.approvalRequested("1.0"), {
        ...Drafts.aborted,
        reason: "shutdown" as const
      }]
      const answered = [Drafts.approvalResolved("1.0"), Drafts.resumed(2), Drafts.settled("1.0", "seen")]
      const states = (...log: ReadonlyArray<Drafts.Placed>) =>
        Effect.map(
          UiPage.opened(Drafts.log(...log)),
          (messages) => messages.flatMap(({ parts }) => parts).flatMap((part) => "state" in part ? [part.state] : [])
        )
      assert.deepStrictEqual(yield* states(...asked), ["approval-requested", "input-available"])
      assert.deepStrictEqual(yield* states(...asked, ...answered), ["output-available", "input-available"])
    }))

  /** What a page that follows a run has in the end. */
  const followed = (...events: ReadonlyArray<RunEvent.RunEvent>) =>
    Effect.gen(function*() {
      const chunks = yield* UiPage.chunksOf(Stream.fromIterable(events))
      const { errors, last } = yield* UiPage.read(chunks)
      assert.deepStrictEqual(errors, [])
      return last
    })

  const delta = (turn: number, index: number, text: string): RunEvent.RunEvent => ({
    _tag: "TextDelta",
    runId: "run-1",
    turn,
    attempt: 1,
    index,
    block: "0",
    delta: text
  })

  it.effect("that a page follows while the run goes on has what is said anew, and nothing that still streams", () =>
    Effect.gen(function*() {
      const [started, turn, end, ...rest] = Drafts.log(...begun, cut, ...again)
      const whole = yield* followed(started!, turn!, delta(1, 0, "one, two"), end!, ...rest)
      assert.deepStrictEqual(UiPage.brief(whole), ["step-start", "step-start", "text: 1, 2, 3"])
      assert.notInclude(JSON.stringify(whole), "streaming")
      const cutAgain = Drafts.log(...begun, cut, ...again.slice(0, 2), { ...cut, unfinished: ["eins, zwei"] })
      const [a, b, c, ...others] = cutAgain
      const last = yield* followed(a!, b!, delta(1, 0, "one, two"), c!, ...others)
      assert.deepStrictEqual(UiPage.brief(last), ["step-start", "step-start", "text: eins, zwei"])
    }))

  it.effect("that was cut off is shown whole to a page that missed a part of it", () =>
    Effect.gen(function*() {
      const [started, turn, end] = Drafts.log(...begun, cut)
      const last = yield* followed(started!, turn!, delta(1, 2, ", two"), end!)
      assert.deepStrictEqual(UiPage.brief(last), ["step-start", "text: one, two"])
    }))
})
