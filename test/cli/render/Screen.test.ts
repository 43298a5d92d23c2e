import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as Paint from "../../../src/cli/render/Paint.ts"
import * as Screen from "../../../src/cli/render/Screen.ts"
import * as Spinner from "../../../src/cli/render/Spinner.ts"
import * as Events from "../Events.ts"
import { Recorder, screenOf } from "../Recorder.ts"

const look: Parameters<typeof Screen.text>[0] = {
  isTerminal: true,
  isAnimated: true,
  paint: Paint.plain,
  sessionId: "s",
  flags: []
}

/** A screen in a scope of its own, and what it writes. */
const using = <A, E>(use: (screen: Screen.Screen, recorder: Recorder) => Effect.Effect<A, E>, options = look) => {
  const recorder = new Recorder({ isTerminal: true })
  return Effect.flatMap(Screen.text(options), (screen) => use(screen, recorder)).pipe(
    Effect.scoped,
    Effect.provide(recorder.layer),
    Effect.as(recorder)
  )
}

describe("the spinner", () => {
  it.effect("turns while the run waits, and says for what and how long", () =>
    using((screen, recorder) =>
      Effect.gen(function*() {
        yield* screen.show([Events.turn])
        yield* TestClock.adjust("100 millis")
        assert.strictEqual(recorder.stderr, "\r\u001b[2K⠋ thinking")
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(screenOf(recorder.tape), ["⠋ thinking  1 s"])
        yield* screen.show([Events.started("list_files", { limit: 3 })])
        yield* TestClock.adjust("100 millis")
        assert.deepStrictEqual(screenOf(recorder.tape), ["⠙ list_files limit=3"])
      })
    ))

  it.effect("is erased before anything else is written", () =>
    Effect.gen(function*() {
      const { tape } = yield* using((screen) =>
        Effect.gen(function*() {
          yield* screen.show([Events.turn])
          yield* TestClock.adjust("300 millis")
          yield* screen.show(Events.deltas(0, "Once"))
          yield* TestClock.adjust("300 millis")
          yield* screen.show([...Events.deltas(1, " more"), Events.message(Events.text("Once more"))])
          yield* TestClock.adjust("300 millis")
          yield* screen.show([Events.settled("t", { _tag: "Succeeded", result: 1 })])
          yield* TestClock.adjust("300 millis")
          yield* screen.show([Events.completed])
          yield* TestClock.adjust("300 millis")
        })
      )
      assert.deepStrictEqual(screenOf(tape), [
        "Once more",
        "● t  ✓ 1  12 ms",
        "✓ completed · 2 turns · 1 tool call · 1.2 s · session s",
        ""
      ])
    }))

  it.effect("stands still while a line of the answer is unfinished", () =>
    using((screen, recorder) =>
      Effect.gen(function*() {
        yield* screen.show([Events.turn, ...Events.deltas(0, "Once")])
        yield* TestClock.adjust("5 seconds")
        assert.strictEqual(recorder.tape, "Once")
      })
    ))

  it.effect("does not count the time a person took", () =>
    using((screen, recorder) =>
      Effect.gen(function*() {
        yield* screen.show([Events.turn])
        yield* Effect.all([screen.hold(Effect.sleep("1 minute")), TestClock.adjust("1 minute")], { concurrency: 2 })
        yield* TestClock.adjust("1 second")
        assert.match(screenOf(recorder.tape).at(-1)!, /thinking {2}1 s$/)
      })
    ))

  it.effect("leaves no trace when the screen closes", () =>
    Effect.gen(function*() {
      const { tape } = yield* using((screen) =>
        Effect.andThen(screen.show([Events.turn]), TestClock.adjust("200 millis"))
      )
      assert.deepStrictEqual(screenOf(tape), [""])
    }))

  it.effect("is absent if control codes are not wanted", () =>
    Effect.gen(function*() {
      const { tape } = yield* using(
        (screen) => Effect.andThen(screen.show([Events.turn]), TestClock.adjust("5 seconds")),
        { ...look, isAnimated: false }
      )
      assert.strictEqual(tape, "")
    }))

  it("is always narrower than the terminal and on one line, whatever it waits for", () => {
    const line = Spinner.draw(3, `日本\n${"x".repeat(200)}\u001b[31m`, 65_000, 40)
    assert.strictEqual(line, `\r\u001b[2K⠸ 日本\\n${"x".repeat(29)}…`)
  })
})

describe("a notice", () => {
  it.effect("ends the line of the answer first", () =>
    Effect.gen(function*() {
      const { stderr, tape } = yield* using((screen) =>
        Effect.andThen(screen.show(Events.deltas(0, "Once")), screen.say("stopping"))
      )
      assert.deepStrictEqual([tape, stderr], ["Once\nstopping\n", "stopping\n"])
    }))
})

describe("a question", () => {
  it.effect("is asked once the events before it are shown", () =>
    using((screen, recorder) =>
      Effect.gen(function*() {
        const asking = yield* Effect.forkChild(
          Effect.andThen(screen.asked("q"), Effect.sync(() => recorder.tape)),
          { startImmediately: true }
        )
        yield* screen.show([Events.turn, ...Events.deltas(0, "May I?"), Events.asked("q")])
        assert.strictEqual(yield* Fiber.join(asking), "May I?")
      })
    ))

  it.effect.each(["text", "json"] as const)(
    "from before a resume is asked once the run goes on: %s",
    (kind) =>
      Effect.gen(function*() {
        const resuming = { ...look, asked: new Map([["old", "pay"]]) }
        const screen = yield* kind === "json" ? Screen.json(resuming) : Screen.text(resuming)
        const order: Array<string> = []
        const asking = yield* Effect.forkChild(
          Effect.andThen(screen.asked("old"), Effect.sync(() => order.push("asked"))),
          { startImmediately: true }
        )
        yield* screen.show([Events.settled("t", { _tag: "Succeeded", result: 1 })])
        order.push("settled")
        yield* screen.show([Events.resumed])
        yield* Fiber.join(asking)
        assert.deepStrictEqual(order, ["settled", "asked"])
      }).pipe(Effect.scoped, Effect.provide(new Recorder({ isTerminal: true }).layer))
  )

  it.effect("from before a resume that somebody answers elsewhere is named with its tool", () =>
    Effect.gen(function*() {
      const { stderr } = yield* using(
        (screen) => screen.show([Events.resumed, Events.answered("old", "alice")]),
        { ...look, asked: new Map([["old", "pay"]]) }
      )
      assert.include(stderr, "✓ pay approved by alice\n")
    }))

  it.effect("is on a line of its own, and nothing is written until it is answered", () =>
    Effect.gen(function*() {
      const { tape } = yield* using((screen, recorder) =>
        Effect.gen(function*() {
          yield* screen.show([Events.turn, ...Events.deltas(0, "May I?")])
          const answered = yield* Deferred.make<void>()
          const asking = yield* Effect.forkChild(
            screen.hold(Effect.andThen(Effect.sync(() => (recorder.tape += "ask ")), Deferred.await(answered))),
            { startImmediately: true }
          )
          yield* Effect.forkChild(screen.say("later"), { startImmediately: true })
          yield* TestClock.adjust("1 second")
          recorder.tape += "y\n"
          yield* Deferred.succeed(answered, undefined)
          yield* Fiber.join(asking)
          yield* TestClock.adjust("1 milli")
        })
      )
      assert.deepStrictEqual(screenOf(tape), ["May I?", "ask y", "later", ""])
    }))
})

describe("JSON", () => {
  it.effect("is one line for each event; notices and the end are on standard error", () =>
    Effect.gen(function*() {
      const recorder = new Recorder()
      yield* Effect.gen(function*() {
        const screen = yield* Screen.json(look)
        yield* screen.show([Events.turn, ...Events.deltas(0, "a\nb\u009b"), Events.completed])
        yield* screen.say("a notice")
      }).pipe(Effect.provide(recorder.layer))
      const lines = recorder.stdout.trimEnd().split("\n").map((line) => JSON.parse(line))
      const shown = [Events.turn, ...Events.deltas(0, "a\nb\u009b"), Events.completed]
      assert.deepStrictEqual(lines, shown.map((event) => ({ sessionId: "s", ...event })))
      assert.notInclude(recorder.stdout, "\u009b")
      assert.strictEqual(recorder.stderr, "✓ completed · 2 turns · 1 tool call · 1.2 s · session s\na notice\n")
    }))
})
