/** The window keeps the newest messages: never half a call, never without the latest user message, and always fewer. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import * as ContextWindow from "../../src/layers/ContextWindow.ts"
import * as Message from "../../src/run/Message.ts"
import * as Transcript from "../../src/run/Transcript.ts"
import type * as ContextManager from "../../src/services/ContextManager.ts"
import * as Draft from "../support/Drafts.ts"
import * as Logs from "../support/Logs.ts"
import * as Requests from "../support/Requests.ts"
import * as Views from "../support/Views.ts"

const check = (runs: number) => ({ arbitrary: { runs, size: 60, seed: "window" } })
const seq = 10_000

const view = (transcript: Transcript.Transcript, force?: ContextManager.Force): ContextManager.View =>
  Views.view(transcript, force === undefined ? {} : { force })

/** The transcript after a compaction, or `undefined` if none is possible. */
const compact = (window: ContextManager.ContextManager["Service"], transcript: Transcript.Transcript, at = seq) => {
  const exit = Effect.runSyncExit(window.compact(view(transcript, "overflow")))
  if (Exit.isFailure(exit)) return undefined
  const [event] = Draft.log({ ...Draft.compacted(exit.value.upTo, exit.value.replacement), usage: exit.value.usage })
  return Transcript.append(transcript, { ...event, seq: at })
}

/** What each message says, whatever ids its calls have. */
const contents = (transcript: Transcript.Transcript) =>
  Transcript.entries(transcript).map(({ message }) =>
    JSON.stringify(
      typeof message.content === "string"
        ? message
        : { ...message, content: message.content.map((part) => "id" in part ? { ...part, id: "" } : part) }
    )
  )

/** What each of their parts says. */
const parts = (transcript: Transcript.Transcript) =>
  Transcript.entries(transcript).flatMap(({ message: { content, role } }) =>
    typeof content === "string"
      ? [`${role} ${content}`]
      : content.map((part) => `${role} ${JSON.stringify("id" in part ? { ...part, id: "" } : part)}`)
  )

const isSubsequence = (part: ReadonlyArray<string>, whole: ReadonlyArray<string>) => {
  let at = 0
  for (const item of whole) if (item === part[at]) at++
  return at === part.length
}

const keep = Schema.Literals([0, 0.2, 0.5, 0.7, 0.9])
const window = ContextWindow.make()

/** A conversation of this many messages, a user's first. */
const talk = (messages: number) =>
  Draft.log(
    Draft.started("message 1"),
    ...Array.from({ length: messages - 1 }, (_, i) =>
      i % 2 === 0
        ? [Draft.assistant([Message.text(`message ${i + 2}`)], { turn: i + 1 }), Draft.turnFinished(i + 1)]
        : [Draft.input(`message ${i + 2}`)]).flat()
  )

describe("a compaction", () => {
  it.prop("leaves fewer parts of messages, or fails and says why", [Logs.odd, keep], ([{ log }, keep]) => {
    const transcript = Transcript.fromLog(log)
    const window = ContextWindow.make({ keep })
    const after = compact(window, transcript)
    if (after !== undefined) return assert.isBelow(parts(after).length, parts(transcript).length)
    const error = Effect.runSync(Effect.flip(window.compact(view(transcript, "overflow"))))
    assert.strictEqual(error._tag, "CompactionError")
    assert.isNotEmpty(error.message)
  }, check(300))

  it.prop("leaves a legal request", [Logs.odd, keep], ([{ log }, keep]) => {
    const after = compact(ContextWindow.make({ keep }), Transcript.fromLog(log))
    if (after !== undefined) assert.strictEqual(Requests.violations(after, seq + 1, Draft.model), "")
  }, check(300))

  it.prop("keeps the latest user message word for word", [Logs.odd, keep], ([{ log }, keep]) => {
    const transcript = Transcript.fromLog(log)
    const latest = Transcript.latestSaid(transcript)
    const after = compact(ContextWindow.make({ keep }), transcript)
    if (latest === undefined || after === undefined) return
    const said = JSON.stringify(latest.content).slice(1, -1)
    assert.include(JSON.stringify(Transcript.entries(after).map(({ message }) => message.content)), said)
  }, check(300))

  it.prop("leaves some of the messages, in their order and unchanged", [Logs.tidy, keep], ([{ log }, keep]) => {
    const transcript = Transcript.fromLog(log)
    const after = compact(ContextWindow.make({ keep }), transcript)
    if (after === undefined) return
    assert.isTrue(isSubsequence(parts(after), parts(transcript)))
  }, check(300))

  it.prop("keeps calls and results together", [Logs.tidy, keep], ([{ log }, keep]) => {
    const transcript = Transcript.fromLog(log)
    const after = compact(ContextWindow.make({ keep }), transcript)
    if (after === undefined) return
    const entries = Transcript.entries(after)
    entries.forEach(({ message }, i) => {
      const next = entries[i + 1]?.message
      const calls = message.role === "assistant" ? Message.toolCalls(message.content).map((call) => call.id) : []
      assert.deepStrictEqual(next?.role === "tool" ? next.content.map((result) => result.id) : [], [...calls])
    })
  }, check(300))

  it.prop(
    "never puts a result into its replacement without an assistant message before it",
    [Logs.tidy, keep],
    ([{ log }, keep]) => {
      const exit = Effect.runSyncExit(ContextWindow.make({ keep }).compact(view(Transcript.fromLog(log))))
      if (Exit.isFailure(exit)) return
      const { replacement } = exit.value
      replacement.forEach((message, i) => {
        if (message.role === "tool") assert.strictEqual(replacement[i - 1]?.role, "assistant")
      })
    },
    check(300)
  )

  it.prop("can be repeated, but only finitely often", [Logs.odd, keep], ([{ log }, keep]) => {
    const window = ContextWindow.make({ keep })
    let transcript: Transcript.Transcript | undefined = Transcript.fromLog(log)
    for (let left = Transcript.size(transcript); transcript !== undefined; left--) {
      assert.isAtLeast(left, 0)
      assert.strictEqual(Requests.violations(transcript, seq * 2, Draft.model), "")
      transcript = compact(window, transcript, seq + 1000 - left)
    }
  }, check(200))

  it("of unanswered messages leaves the last thing said, even before a notice", () => {
    const log = Draft.log(
      Draft.started("a very long story"),
      Draft.aborted,
      Draft.started("and another one"),
      Draft.aborted,
      Draft.started("hello"),
      Draft.notice("Go on.")
    )
    const transcript = Transcript.fromLog(log)
    assert.strictEqual(Transcript.size(transcript), 1)
    const after = compact(window, transcript)!
    assert.deepStrictEqual(contents(after), [JSON.stringify({
      role: "user",
      content: [Message.text("hello"), Message.text("Go on.")]
    })])
    assert.isUndefined(compact(window, after))
  })

  it("of unanswered messages leaves the last thing said when the turns after it are also too many", () => {
    const transcript = Transcript.fromLog(Draft.log(
      Draft.started(`a long story ${"and so on ".repeat(100)}`),
      Draft.aborted,
      Draft.started("find the needle"),
      ...Array.from({ length: 9 }, (_, i) => [
        Draft.assistant([Message.text(`turn ${i}: ${"and so on ".repeat(20)}`), Draft.call("search")], { turn: i + 1 }),
        Draft.settled(`${i + 1}.0`, { _tag: "Succeeded", result: "hay" }),
        Draft.turnFinished(i + 1)
      ]).flat()
    ))
    const { compact } = ContextWindow.make({ keep: 0.5 })
    const said = (limit: number) => {
      const compaction = Effect.runSync(compact(Views.view(transcript, { force: "overflow", limit })))
      return contents(Views.after(transcript, compaction)).join()
    }
    const all = Views.tokens(transcript)
    // leaving out turns is enough
    assert.include(said(all - 1), "a long story")
    assert.notInclude(said(all - 1), "turn 3")
    const least = said(260)
    assert.include(least, "find the needle")
    assert.notInclude(least, "a long story")
    assert.notInclude(least, "turn 6")
    assert.include(least, "turn 8")
  })

  it("by hand leaves unanswered messages alone unless they are more than may be sent", () => {
    const transcript = Transcript.fromLog(
      Draft.log(Draft.started("what to build"), Draft.aborted, Draft.started("build it"))
    )
    const by = (limit: number) => Effect.runSyncExit(window.compact(Views.view(transcript, { force: "manual", limit })))
    const all = Views.tokens(transcript)
    assert.isTrue(Exit.isFailure(by(all)))
    const tooMuch = by(all - 1)
    assert.isTrue(Exit.isSuccess(tooMuch))
    if (Exit.isSuccess(tooMuch)) {
      assert.deepStrictEqual(tooMuch.value.replacement, [Message.user("build it")])
    }
  })

  it("keeps the newest 70 % of the messages", () => {
    const after = compact(window, Transcript.fromLog(talk(20)))
    assert.deepStrictEqual(contents(after!), contents(Transcript.fromLog(talk(20))).slice(6))
  })

  it("keeps the latest user message even from before the cut", () => {
    const log = Draft.log(
      Draft.started("the question"),
      ...Array.from({ length: 10 }, (_, i) => [
        Draft.assistant([Draft.call("search")], { turn: i + 1 }),
        Draft.settled(`${i + 1}.0`, `found ${i}`),
        Draft.turnFinished(i + 1)
      ]).flat()
    )
    const all = contents(compact(window, Transcript.fromLog(log))!)
    assert.include(all[0], "the question")
    assert.include(all.at(-1), "found 9")
    assert.notInclude(all.join(), "found 0")
  })

  it("keeps what a person said, not a notice of the runtime instead", () => {
    const log = Draft.log(
      Draft.started("write a long story"),
      ...Array.from({ length: 6 }, (_, i) => [
        Draft.assistant([Message.text(`chapter ${i}`)], { turn: i + 1, finishReason: "length" }),
        Draft.turnFinished(i + 1),
        Draft.notice("Your last answer was cut. Go on where it ended.", "length")
      ]).flat()
    )
    const after = compact(window, Transcript.fromLog(log))
    assert.include(contents(after!).join(), "write a long story")
  })

  it("repeated three times, keeps what a person said, whatever the runtime said after it", () => {
    const log = Draft.log(
      Draft.started("find the needle"),
      Draft.assistant([Message.text("half")], { finishReason: "length" }),
      Draft.turnFinished(1),
      Draft.notice("Go on.", "length"),
      ...Array.from({ length: 30 }, (_, i) => [
        Draft.assistant([Draft.call("search")], { turn: i + 2 }),
        Draft.settled(`${i + 2}.0`, `found ${i}`),
        Draft.turnFinished(i + 2)
      ]).flat()
    )
    let transcript = Transcript.fromLog(log)
    for (let n = 0; n < 3; n++) {
      transcript = compact(window, transcript, seq + n)!
      assert.include(contents(transcript).join(), "find the needle")
    }
  })

  it("can leave out an answer whose seq is above that of the input before it", () => {
    const log = Draft.log(
      Draft.started("first"),
      Draft.turnStarted(1),
      Draft.input("meanwhile"),
      Draft.assistant([Message.text("answer")]),
      Draft.turnFinished(1)
    )
    const after = compact(ContextWindow.make({ keep: 0.2 }), Transcript.fromLog(log))
    assert.deepStrictEqual(contents(after!), [JSON.stringify(Message.user("meanwhile"))])
  })

  it("can keep only the later messages of an event that made several", () => {
    const history = Array.from({ length: 10 }, (_, i) => ({
      role: i % 2 === 0 ? "user" as const : "assistant" as const,
      content: [Message.text(`history ${i}`)]
    }))
    const after = compact(window, Transcript.fromLog(Draft.log(Draft.started("now", { history }))))
    assert.deepStrictEqual(
      contents(after!),
      contents(Transcript.fromLog(Draft.log(Draft.started("now", { history: history.slice(4) }))))
    )
  })

  it("is refused when there is nothing but the latest message", () => {
    assert.isUndefined(compact(window, Transcript.fromLog(Draft.log(Draft.started("hello")))))
    assert.isUndefined(compact(window, Transcript.empty))
  })
})

describe("a maxTokens that instructions and tools already exceed", () => {
  const transcript = Transcript.fromLog(talk(20))
  const fixed = 5_000
  const all = Views.tokens(transcript) + fixed

  it("leaves the limit to the model's window", () => {
    const { plan } = ContextWindow.make({ maxTokens: 4_000 })
    assert.strictEqual(plan(Views.view(transcript, { fixed, limit: all }))._tag, "Send")
    assert.deepInclude(plan(Views.view(transcript, { fixed, limit: all - 1 })), { _tag: "Compact" })
  })

  it.effect("does not change how much a forced compaction leaves", () =>
    Effect.gen(function*() {
      const left = Effect.fnUntraced(function*(options: ContextWindow.Options) {
        const { compact } = ContextWindow.make(options)
        const compaction = yield* compact(Views.view(transcript, { fixed, limit: all - 1, force: "overflow" }))
        return Transcript.size(Views.after(transcript, compaction))
      })
      assert.strictEqual(yield* left({ maxTokens: 4_000 }), yield* left({}))
    }))
})

describe("a plan", () => {
  it("without a threshold is to send", () => {
    assert.deepStrictEqual(window.plan(view(Transcript.fromLog(talk(500)))), { _tag: "Send" })
  })

  it.each<readonly [number, string]>([[9, "Send"], [10, "Send"], [11, "Compact"], [100, "Compact"]])(
    "for %i messages with a threshold of 10 is to %s",
    (messages, expected) => {
      const plan = ContextWindow.make({ compactThreshold: 10 }).plan(view(Transcript.fromLog(talk(messages))))
      assert.strictEqual(plan._tag, expected)
    }
  )

  it("to compact requests exactly the view it was shown", () => {
    const shown = view(Transcript.fromLog(talk(11)))
    assert.deepStrictEqual(ContextWindow.make({ compactThreshold: 10 }).plan(shown), {
      _tag: "Compact",
      request: { ...shown, cause: "messages" }
    })
  })

  it("is to send when a compaction would leave nothing out", () => {
    const one = Transcript.fromLog(Draft.log(Draft.started("hello")))
    assert.deepStrictEqual(ContextWindow.make({ compactThreshold: 0 }).plan(view(one)), { _tag: "Send" })
  })

  it.each([2, 3, 5, 10, 50])("is to send after at most three compactions, with a threshold of %i", (n) => {
    const window = ContextWindow.make({ compactThreshold: n })
    let transcript = Transcript.fromLog(talk(400))
    for (let i = 0; i < 3 && window.plan(view(transcript))._tag === "Compact"; i++) {
      transcript = compact(window, transcript, seq + i)!
    }
    assert.deepStrictEqual(window.plan(view(transcript)), { _tag: "Send" })
  })

  it.prop("is the same for the same view", [Logs.odd, keep], ([{ log }, keep]) => {
    const shown = view(Transcript.fromLog(log))
    const window = ContextWindow.make({ compactThreshold: 5, keep })
    assert.deepStrictEqual(window.plan(shown), window.plan(shown))
  }, check(50))

  it.prop("to compact can always be carried out", [Logs.odd, keep], ([{ log }, keep]) => {
    const shown = view(Transcript.fromLog(log))
    const window = ContextWindow.make({ compactThreshold: 3, keep })
    if (window.plan(shown)._tag === "Compact") assert.isDefined(compact(window, shown.transcript))
  }, check(200))
})
