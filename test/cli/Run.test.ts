/** What is read before a run continues. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Worker from "../../src/cli/agent/Worker.ts"
import * as TerminalApprover from "../../src/cli/approval/TerminalApprover.ts"
import * as Run from "../../src/cli/Run.ts"
import * as Settings from "../../src/cli/Settings.ts"
import { Signals } from "../../src/cli/terminal/Signals.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as TestAgent from "../support/TestAgent.ts"
import { Recorder } from "./Recorder.ts"

const typed = { session: undefined, db: undefined, root: undefined, model: undefined, maxTurns: undefined }

/** The settings for a task, or to resume. */
const settingsOf = (task: string | undefined, json: boolean) =>
  Settings.check({ ...typed, task, json, isPlain: true, contextWindow: undefined })

const show = Effect.fnUntraced(function*(worker: Worker.Worker, settings: Settings.Settings, sessionId: string) {
  return yield* Run.show(worker, settings, { sessionId }).pipe(
    Effect.provide(new Recorder().layer),
    Effect.provideService(Signals, { first: Effect.never, forget: Effect.void, leaving: () => Effect.void })
  )
})

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
    const ways = [["lines", true, undefined], ["text", false, undefined], ["task", false, "hello"]] as const
    for (const [sessionId, json, task] of ways) {
      yield* show(worker, yield* settingsOf(task, json), sessionId)
    }
    assert.deepStrictEqual(reads, ["lines", "text"])
  }))

it.effect.each([true, false])(
  "a question is asked even if what was open could not be read: --json %s",
  (json) =>
    Effect.gen(function*() {
      const { agent, store } = yield* TestAgent.make([TestAgent.work(1), ScriptedModel.text("Done.")], {
        agent: { toolPolicy: { requireApprovalByDefault: true } }
      })
      yield* agent.run({ sessionId: "s", input: "go" })
      const worker: Worker.Worker = {
        client: agent,
        store: store.service,
        data: {},
        notices: [],
        approver: (screen) => ({ ask: ({ approvalId }) => Effect.as(screen.asked(approvalId), { approved: true }) }),
        openCalls: () => Effect.succeed(Worker.unknown)
      }
      assert.strictEqual((yield* show(worker, yield* settingsOf(undefined, json), "s")).code, 0)
    })
)
