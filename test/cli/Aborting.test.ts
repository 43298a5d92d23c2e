/** Which run a signal aborts. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as TerminalApprover from "../../src/cli/approval/TerminalApprover.ts"
import type * as Screen from "../../src/cli/render/Screen.ts"
import * as Run from "../../src/cli/Run.ts"
import { Signals } from "../../src/cli/Signals.ts"
import type * as Worker from "../../src/cli/Worker.ts"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"

describe("a signal", () => {
  it.effect("aborts the run under way where an older one left a question, and its end is shown", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const { agent } = yield* TestAgent.make([TestAgent.work(1), ScriptedModel.gate(gate)], {
        agent: { toolPolicy: { requireApprovalByDefault: true } }
      })
      assert.strictEqual((yield* agent.run({ sessionId: "s", input: "go" }))._tag, "Suspended")
      const shown: Array<RunEvent.RunEvent> = []
      const screen: Screen.Screen = {
        say: () => Effect.void,
        hold: (self) => self,
        asked: () => Effect.void,
        show: (events) =>
          Effect.sync(() => {
            shown.push(...events)
          })
      }
      const worker: Worker.Worker = {
        client: agent,
        notices: [],
        approver: () => TerminalApprover.nobody,
        openCalls: () => Effect.succeed(new Map())
      }
      const driving = yield* Run.drive(
        worker,
        { task: "hello?", session: "s", maxTurns: undefined, flags: [] },
        "s",
        screen
      ).pipe(
        Effect.provideService(Signals, { first: Effect.as(gate.started, "SIGINT"), forget: Effect.void }),
        Effect.forkChild
      )
      yield* gate.started
      yield* TestClock.adjust("1 second")
      const { code } = yield* Fiber.join(driving)
      assert.strictEqual(code, 130)
      assert.strictEqual(RunLog.endOf(shown), "RunAborted(requested)")
    }))
})
