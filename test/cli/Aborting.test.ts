/** Which run a signal aborts. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as TerminalApprover from "../../src/cli/approval/TerminalApprover.ts"
import type * as Screen from "../../src/cli/render/Screen.ts"
import * as Run from "../../src/cli/Run.ts"
import { type Signal, Signals } from "../../src/cli/terminal/Signals.ts"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"

const workOf = ({ agent, store }: Pick<TestAgent.TestAgent, "agent" | "store">) => ({
  client: agent,
  store: store.service,
  data: {},
  notices: [],
  approver: TerminalApprover.nobody
})

const signalled = (first: Effect.Effect<Signal>): Signals["Service"] => ({
  first,
  forget: Effect.void,
  leaving: () => Effect.void
})

/** A screen that remembers what it was given. */
const recording = () => {
  const shown: Array<RunEvent.RunEvent> = []
  const said: Array<string> = []
  const screen: Screen.Screen = {
    say: (line) => Effect.sync(() => void said.push(line)),
    hold: (self) => self,
    lineEnd: () => "",
    asked: () => Effect.void,
    show: (events) => Effect.sync(() => void shown.push(...events))
  }
  return { shown, said, screen }
}

describe("a signal", () => {
  it.effect("aborts the run under way, not an older one that left a question, and its end is shown", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const test = yield* TestAgent.make([TestAgent.work(1), ScriptedModel.gate(gate)], {
        agent: { toolPolicy: { requireApprovalByDefault: true } }
      })
      assert.strictEqual((yield* test.agent.run({ sessionId: "s", input: "go" }))._tag, "Suspended")
      const { screen, shown } = recording()
      const driving = yield* Run.drive(
        workOf(test),
        { task: "hello?", session: "s", maxTurns: undefined, flags: [] },
        { sessionId: "s" },
        screen
      ).pipe(
        Effect.provideService(Signals, signalled(Effect.as(gate.started, "SIGINT"))),
        Effect.forkChild
      )
      yield* gate.started
      yield* TestClock.adjust("1 second")
      const { code } = yield* Fiber.join(driving)
      assert.strictEqual(code, 130)
      assert.strictEqual(RunLog.endOf(shown), "RunAborted(requested)")
    }))

  it.effect("aborts a run that nobody reads any more, and does not say that it had not begun", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const test = yield* TestAgent.make([ScriptedModel.gate(gate)])
      const { said, ...recorded } = recording()
      const screen: Screen.Screen = { ...recorded.screen, show: () => Effect.never }
      const driving = yield* Run.drive(
        workOf(test),
        { task: "hello?", session: undefined, maxTurns: undefined, flags: [] },
        { sessionId: "s" },
        screen
      ).pipe(
        Effect.provideService(Signals, signalled(Effect.as(gate.started, "SIGTERM"))),
        Effect.forkChild
      )
      yield* gate.started
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(driving)).code, 143)
      assert.deepStrictEqual(said, ["Aborting the run; press Ctrl-C again to leave at once."])
    }))

  it.effect("shows the end of a run that was already stored, although nothing of it had been shown", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const test = yield* TestAgent.make([ScriptedModel.gate(gate)])
      // as where the store has just answered
      const stream: typeof test.agent.stream = (input) => Stream.drain(test.agent.stream(input))
      const { said, screen, shown } = recording()
      const { code, hasBegun } = yield* Run.drive(
        { ...workOf(test), client: { ...test.agent, stream } },
        { task: "hello?", session: undefined, maxTurns: undefined, flags: [] },
        { sessionId: "s" },
        screen
      ).pipe(Effect.provideService(Signals, signalled(Effect.as(gate.started, "SIGINT"))))
      assert.deepStrictEqual([code, hasBegun, RunLog.endOf(shown), said], [130, true, "RunAborted(consumer)", []])
    }))

  it.effect("that comes before the run began is told of so, also where an older run was aborted", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const test = yield* TestAgent.make([ScriptedModel.gate(gate)])
      const older = yield* Effect.forkChild(test.agent.run({ sessionId: "s", input: "go" }))
      yield* gate.started
      yield* Fiber.interrupt(older)
      yield* TestClock.adjust("1 second")
      const { said, screen, shown } = recording()
      const { code, hasBegun } = yield* Run.drive(
        { ...workOf(test), client: { ...test.agent, stream: () => Stream.never } },
        { task: "hello?", session: "s", maxTurns: undefined, flags: [] },
        { sessionId: "s" },
        screen
      ).pipe(Effect.provideService(Signals, signalled(Effect.succeed("SIGINT"))))
      assert.deepStrictEqual([code, hasBegun, shown], [130, false, []])
      assert.deepStrictEqual(said, ["fiberloop: aborted before the run began"])
    }))
})
