/** What a run that works for a call says meanwhile, as it is reported. */
import { assert, it } from "@effect/vitest"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import * as TestClock from "effect/testing/TestClock"
import * as RunError from "../../src/run/RunError.ts"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import { Observers } from "../../src/services/Observers.ts"
import * as SubAgents from "../../src/services/SubAgents.ts"
import { ToolCall } from "../../src/services/ToolCall.ts"
import * as Drafts from "../support/Drafts.ts"

/** What is reported of a run that its observers see in these batches. */
const reports = Effect.fnUntraced(function*(batches: ReadonlyArray<ReadonlyArray<RunEvent.RunEvent>>) {
  const told: Array<string> = []
  const agent = {
    run: () =>
      Effect.gen(function*() {
        const batch = { agent: "below", sessionId: "own", runId: "own", data: undefined, missed: 0 }
        for (const { observe } of yield* Observers) {
          for (const events of batches) {
            if (Arr.isReadonlyArrayNonEmpty(events)) {
              yield* Effect.orDie(observe({ ...batch, events }) as Effect.Effect<void>)
            }
          }
        }
        return yield* Effect.die("over")
      })
  }
  yield* Effect.exit(SubAgents.run(agent, { input: "go" }, "own", (said) => Effect.sync(() => told.push(said))))
  return told
})

const saying = (delta: string, turn = 1): RunEvent.RunEvent => ({
  _tag: "TextDelta",
  runId: "own",
  turn,
  attempt: 1,
  index: 0,
  block: "0",
  delta
})

const answered = (text: string) =>
  ({ ...Drafts.assistant([{ type: "text", text }]), seq: 1, at: 0, runId: "own", version: 1 }) as RunEvent.Durable

it.effect("the reports of a text, however long, are ten times as long as it in all, and the last one is whole", () =>
  Effect.gen(function*() {
    const pieces = Array.from({ length: 5000 }, (_, at) => `${at} `)
    const text = pieces.join("")
    const told = yield* reports([...pieces.map((piece) => [saying(piece)]), [answered(text)]])
    assert.strictEqual(told[0], "0 ")
    assert.strictEqual(told.at(-1), text)
    assert.isAtMost(told.reduce((sum, said) => sum + said.length, 0), 10 * text.length)
    assert.isTrue(told.every((said) => text.startsWith(said)))
  }))

it.effect("a report never lags behind by more than an eighth", () =>
  Effect.gen(function*() {
    const pieces = Array.from({ length: 500 }, (_, at) => `${at} `)
    const told = yield* reports(pieces.map((piece) => [saying(piece)]))
    assert.isAtLeast(told.at(-1)!.length * 9 / 8, pieces.join("").length)
  }))

it.effect("a new turn is reported from its first word on", () =>
  Effect.gen(function*() {
    const begun = { ...Drafts.turnStarted(2), seq: 2, at: 0, runId: "own", version: 1 } as RunEvent.Durable
    const told = yield* reports([[saying("a long text")], [begun, saying("a longer text", 2)], [saying(" again", 2)]])
    assert.deepStrictEqual(told, ["a long text", "a longer text", "a longer text again"])
  }))

it.effect("a run is not waited for while its session has another run", () =>
  Effect.gen(function*() {
    let tries = 0
    const run = () =>
      Effect.suspend(() => {
        tries++
        return Effect.fail(RunError.sessionBusy("own", "another"))
      })
    const running = yield* Effect.forkChild(SubAgents.run({ run }, { input: "go" }, "own"))
    yield* TestClock.adjust("1 minute")
    const ended = yield* Fiber.join(running)
    assert.strictEqual(Result.isFailure(ended) && ended.failure.reason._tag, "SessionBusy")
    assert.strictEqual(tries, 1)
  }))

const call = { sessionId: "s", runId: "r", callId: "1.0", idempotencyKey: "own", attempt: 1, data: undefined }

it.effect.each(["runAgent", "runAgents"] as const)(
  "%s of an agent that was closed is interrupted with the run around it, or fails after five grace periods",
  (by) =>
    Effect.gen(function*() {
      const agent = { run: () => Effect.fail(RunError.shuttingDown) }
      const input = { input: "go" }
      const asking: Effect.Effect<unknown, string, ToolCall> = by === "runAgent"
        ? ToolCall.runAgent(agent, input)
        : ToolCall.runAgents(agent, [input, input], { concurrency: 1 })
      const running = yield* Effect.forkChild(Effect.exit(Effect.provideService(asking, ToolCall, call)))
      yield* TestClock.adjust("24 seconds")
      assert.isUndefined(running.pollUnsafe())
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* Fiber.join(running), Exit.fail(RunError.shuttingDown.message))
    })
)
