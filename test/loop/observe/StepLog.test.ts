/** Debug lines of a run: one a step, of names, counts and times, and none where nobody reads them. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as References from "effect/References"
import * as TestClock from "effect/testing/TestClock"
import * as RunError from "../../../src/run/RunError.ts"
import * as ScriptedModel from "../../../src/testing/ScriptedModel.ts"
import * as Hang from "../../support/Hang.ts"
import * as TestAgent from "../../support/TestAgent.ts"
import * as Watch from "../../support/Watch.ts"

const busy = ScriptedModel.fail(
  new RunError.RetryableError<RunError.ProviderReason>({ _tag: "Overloaded", message: "busy", retryAfter: 5000 })
)

/** The lines of a run that is tried again and calls a tool. */
const logged = (level: "Debug" | "Info") =>
  Effect.gen(function*() {
    const lines: Array<string> = []
    const logger = Logger.make(({ logLevel, message }) => void lines.push(`${logLevel} ${String(message)}`))
    const { agent } = yield* TestAgent.make([busy, TestAgent.work(1), ScriptedModel.text("done")], {
      tool: () => Effect.fail("no")
    })
    const events = agent.stream({ sessionId: "s", runId: "r1", input: "go" })
    yield* Effect.gen(function*() {
      const { over, until } = yield* Watch.make(events)
      yield* until("RetryScheduled")
      yield* TestClock.adjust("5 seconds")
      yield* over
    }).pipe(Effect.provide(Logger.layer([logger])), Effect.provideService(References.MinimumLogLevel, level))
    return lines
  })

it.effect("each step of a run is a debug line", () =>
  Effect.gen(function*() {
    assert.deepStrictEqual(yield* logged("Debug"), [
      "Debug run=r1 started=test/Tested session=s",
      "Debug run=r1 status=preparing",
      "Debug run=r1 status=calling turn=1/20 attempt=1/4",
      "Debug run=r1 discarded=1 error=Overloaded ms=0 delay=5000",
      "Debug run=r1 status=retrying turn=1/20 attempt=2/4",
      "Debug run=r1 status=calling turn=1/20 attempt=2/4",
      "Debug run=r1 status=streaming turn=1/20 attempt=2/4",
      "Debug run=r1 answered=scripted/scripted finish=tool-calls input=10 output=5",
      "Debug run=r1 status=tool_running turn=1/20",
      "Debug run=r1 tool=work outcome=Failed ms=0",
      "Debug run=r1 status=observing turn=1/20",
      "Debug run=r1 decision=continue reason=tool-calls model=0 tools=0",
      "Debug run=r1 status=preparing turn=1/20",
      "Debug run=r1 status=calling turn=2/20 attempt=1/4",
      "Debug run=r1 status=streaming turn=2/20 attempt=1/4",
      "Debug run=r1 answered=scripted/scripted finish=stop input=10 output=5",
      "Debug run=r1 status=observing turn=2/20",
      "Debug run=r1 decision=complete reason=stop model=0 tools=0",
      "Debug run=r1 status=completed turn=2/20",
      "Debug run=r1 end=completed reason=stop turns=2 tools=1 errors=2 ms=5000"
    ])
  }))

it.effect("a run says nothing above that level", () =>
  Effect.gen(function*() {
    assert.deepStrictEqual(yield* logged("Info"), [])
  }))

it.effect("a run does not notice that its logger breaks", () =>
  Effect.gen(function*() {
    const broken = Logger.make(() => {
      throw new Error("SECRET")
    })
    const { agent } = yield* TestAgent.make([ScriptedModel.text("done")])
    const running = yield* agent.run({ input: "go" }).pipe(
      Effect.provide(Logger.layer([broken])),
      Effect.provideService(References.MinimumLogLevel, "Debug"),
      Effect.forkDetach
    )
    assert.isTrue(yield* Hang.ends(Fiber.await(running)), "run waits for ever")
    assert.strictEqual((yield* Fiber.join(running))._tag, "Completed")
  }))
