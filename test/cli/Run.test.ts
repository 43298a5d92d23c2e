/** What is read before a run continues. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import * as TerminalApprover from "../../src/cli/approval/TerminalApprover.ts"
import * as Run from "../../src/cli/Run.ts"
import * as Settings from "../../src/cli/Settings.ts"
import { Signals } from "../../src/cli/Signals.ts"
import * as Worker from "../../src/cli/Worker.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as TestAgent from "../support/TestAgent.ts"
import { Recorder } from "./Recorder.ts"

it.effect("what is open is read where the run goes on with it, and not for a new task", () =>
  Effect.gen(function*() {
    const { agent, store } = yield* TestAgent.make([ScriptedModel.text("Done."), ScriptedModel.text("Done.")])
    const reads: Array<string> = []
    const worker: Worker.Worker = {
      client: agent,
      store: store.service,
      data: {},
      notices: [],
      approver: () => TerminalApprover.nobody,
      openCalls: (sessionId) => Effect.sync(() => void reads.push(sessionId)).pipe(Effect.as(Worker.nothingOpen))
    }
    const typed = { session: undefined, db: undefined, root: undefined, model: undefined, maxTurns: undefined }
    const ways = [["lines", true, undefined], ["text", false, undefined], ["task", false, "hello"]] as const
    for (const [sessionId, json, task] of ways) {
      const settings = yield* Settings.check({
        ...typed,
        task,
        json,
        isPlain: true,
        contextWindow: undefined
      })
      yield* Run.show(worker, settings, { sessionId }).pipe(
        Effect.provide(new Recorder().layer),
        Effect.provideService(Signals, { first: Effect.never, forget: Effect.void, leaving: () => Effect.void })
      )
    }
    assert.deepStrictEqual(reads, ["lines", "text"])
  }))
