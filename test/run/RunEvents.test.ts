/** Views of a run's events: no text is lost or repeated, however late or slow the reader is. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Message from "../../src/run/Message.ts"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import * as RunEvents from "../../src/run/RunEvents.ts"
import { attempt, delta, deltasOf, said, status, text } from "../support/Deltas.ts"
import * as Draft from "../support/Drafts.ts"
import * as Logs from "../support/Logs.ts"
import { dice } from "../support/Odd.ts"

const check = { arbitrary: { runs: 300, size: 30, seed: "views" } }

const [answer] = Draft.log(Draft.assistant([Message.text("Hello you")]))
const [second] = Draft.log(Draft.assistant([Message.text("Hello you")], { attempt: 2 }))
const [discarded] = Draft.log(Draft.discarded(1, 1))

const stream = (...events: ReadonlyArray<RunEvent.RunEvent>) => Stream.fromIterable(events)

const pieces = (events: Iterable<RunEvent.RunEvent>) => Stream.runCollect(RunEvents.text(Stream.fromIterable(events)))
const joinedText = (events: Iterable<RunEvent.RunEvent>) => Effect.map(pieces(events), (all) => all.join(""))

describe("joined", () => {
  it.prop("loses no text of any block", [text, Logs.seed], ([whole, seed]) => {
    const events = attempt(whole, seed)
    for (const block of ["0", "r"]) assert.strictEqual(said(RunEvents.joined(events), block), said(events, block))
  }, check)

  it.prop("keeps the dedupe key: indexes and counts cover each delta once", [text, Logs.seed], ([whole, seed]) => {
    const events = attempt(whole, seed)
    const covered = deltasOf(RunEvents.joined(events)).flatMap(({ count = 1, index }) =>
      Array.from({ length: count }, (_, i) => index + i)
    )
    assert.deepStrictEqual(covered, deltasOf(events).map((event) => event.index))
  }, check)

  it.prop("leaves what is already joined unchanged", [text, Logs.seed], ([whole, seed]) => {
    const once = RunEvents.joined(attempt(whole, seed))
    assert.deepStrictEqual(RunEvents.joined(once), once)
  }, check)

  it.prop("is the same in two steps as in one", [text, Logs.seed], ([whole, seed]) => {
    const events = attempt(whole, seed)
    const half = dice(seed).int(events.length + 1)
    const steps = [...RunEvents.joined(events.slice(0, half)), ...events.slice(half)]
    assert.deepStrictEqual(RunEvents.joined(steps), RunEvents.joined(events))
  }, check)

  it("keeps durable events in place and drops what is only meant to be watched", () => {
    const events = [delta(0, "a"), status, delta(1, "b"), discarded, delta(0, "c", { attempt: 2 }), answer]
    assert.deepStrictEqual(RunEvents.joined(events), [
      { ...delta(0, "a"), delta: "ab", count: 2 },
      discarded,
      delta(0, "c", { attempt: 2 }),
      answer
    ])
  })

  it.each<readonly [string, RunEvent.Transient]>([
    ["blocks", delta(1, "b", { block: "1" })],
    ["attempts", delta(1, "b", { attempt: 2 })],
    ["turns", delta(1, "b", { turn: 2 })],
    ["runs", delta(1, "b", { runId: "run-2" })],
    ["kinds", delta(1, "b", {}, "ReasoningDelta")],
    ["places, of which one is missing,", delta(2, "b")],
    ["places, of which one comes again,", delta(0, "b")]
  ])("does not join different %s", (_, second) => {
    assert.deepStrictEqual(RunEvents.joined([delta(0, "a"), second]), [delta(0, "a"), second])
  })
})

describe("text", () => {
  it.effect.prop(
    "is the whole text of the message, in pieces as they arrived",
    [text, Logs.seed],
    ([whole, seed]) =>
      Effect.gen(function*() {
        const [answer] = Draft.log(Draft.assistant([Message.text(whole)]))
        const events = attempt(whole, seed)
        assert.deepStrictEqual(
          yield* pieces([...events, answer]),
          events.flatMap((event) => event._tag === "TextDelta" ? [event.delta] : [])
        )
      }),
    check
  )

  it.effect.prop("is whole for a reader that comes late", [text, Logs.seed], ([whole, seed]) =>
    Effect.gen(function*() {
      const [answer] = Draft.log(Draft.assistant([Message.text(whole)]))
      const events = attempt(whole, seed)
      const late = events.slice(dice(seed).int(events.length + 1))
      assert.strictEqual(yield* joinedText([...late, answer]), whole)
    }), check)

  it.effect.prop(
    "is whole for a reader whose deltas were joined or dropped",
    [text, Logs.seed],
    ([whole, seed]) =>
      Effect.gen(function*() {
        const [answer] = Draft.log(Draft.assistant([Message.text(whole)]))
        const events = attempt(whole, seed)
        assert.strictEqual(yield* joinedText([...RunEvents.joined(events), answer]), whole)
        const from = dice(seed).int(events.length + 1)
        const seen = [...events.slice(0, from), ...events.slice(from + 2), answer]
        assert.strictEqual(yield* joinedText(seen), whole)
      }),
    check
  )

  it.effect("is not repeated for a reader that meets some deltas twice", () =>
    Effect.gen(function*() {
      const events = [delta(0, "Hello"), delta(1, " "), delta(0, "Hello"), delta(1, " "), delta(2, "you"), answer]
      assert.strictEqual(yield* joinedText(events), "Hello you")
    }))

  it.effect("of a retried attempt begins on a new line", () =>
    Effect.gen(function*() {
      const events = [delta(0, "Hel"), discarded, delta(0, "Hello", { attempt: 2 }), second]
      assert.deepStrictEqual(yield* pieces(events), ["Hel", "\n", "Hello", " you"])
    }))

  it.effect.each(["Hel", "Bye, then", "Hello you"])(
    "of an attempt not seen at all is whole, whatever was seen of the one before: %s",
    (before) =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* pieces([delta(0, before), discarded, second]), [before, "\n", "Hello you"])
      })
  )

  it.effect("of a message without text adds nothing to what was seen of the attempt before", () =>
    Effect.gen(function*() {
      const [silent] = Draft.log(Draft.assistant([Draft.call("pay")], { attempt: 2 }))
      assert.deepStrictEqual(yield* pieces([delta(0, "Hel"), discarded, silent]), ["Hel"])
    }))

  it.effect("after an attempt that had said nothing needs no new line", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* pieces([discarded, delta(0, "Hello you", { attempt: 2 }), second]), ["Hello you"])
    }))

  it.effect("contains neither reasoning nor arguments", () =>
    Effect.gen(function*() {
      const params: RunEvent.Transient = { ...delta(1, "{}"), _tag: "ToolParamsDelta", tool: "pay" }
      const events = [delta(0, "hm", {}, "ReasoningDelta"), params, delta(2, "Hello you"), answer]
      assert.deepStrictEqual(yield* pieces(events), ["Hello you"])
    }))

  it.effect("of several turns is separate for each", () =>
    Effect.gen(function*() {
      const [one, two] = Draft.log(
        Draft.assistant([Message.text("one.")]),
        Draft.assistant([Message.text("two.")], { turn: 2 })
      )
      assert.deepStrictEqual(yield* pieces([delta(0, "one."), one, delta(0, "two.", { turn: 2 }), two]), [
        "one.",
        "two."
      ])
    }))

  it.effect("of the drive after one that was cut off is whole again", () =>
    Effect.gen(function*() {
      const later = Draft.log(Draft.aborted, Draft.resumed(2), Draft.turnStarted(1))
      const cut = [delta(0, "Good"), delta(1, " day"), ...later]
      const place = { attempt: 2 }
      const events = [...cut, delta(0, "Hello", place), delta(1, " ", place), delta(2, "you", place), second]
      assert.isTrue((yield* joinedText(events)).endsWith("Hello you"))
      assert.strictEqual((yield* joinedText(events)).split("you").length, 2)
    }))

  it.effect("of interleaved blocks is not repeated", () =>
    Effect.gen(function*() {
      const [answer] = Draft.log(Draft.assistant([Message.text("one two "), Message.text("three")]))
      const events = [delta(0, "one "), delta(1, "three", { block: "1" }), delta(2, "two "), answer]
      assert.strictEqual((yield* joinedText(events)).split("three").length, 2)
    }))

  it.effect("ends with the run's error", () =>
    Effect.gen(function*() {
      const events = Stream.concat(stream(delta(0, "Hel")), Stream.fail("boom"))
      assert.strictEqual(yield* Effect.flip(Stream.runDrain(RunEvents.text(events))), "boom")
    }))

  it.effect("is read from the start by each reader", () =>
    Effect.gen(function*() {
      const events = RunEvents.text(stream(delta(0, "Hello"), answer))
      assert.deepStrictEqual(yield* Stream.runCollect(events), ["Hello", " you"])
      assert.deepStrictEqual(yield* Stream.runCollect(events), ["Hello", " you"])
    }))
})
