/** How a drive begins in the log: a run started, or resumed, and what an older run left waiting settled before that. */
import * as Effect from "effect/Effect"
import * as RunPolicy from "../../run/RunPolicy.ts"
import * as RunState from "../../run/RunState.ts"
import type * as Env from "../drive/Env.ts"
import type * as Brief from "./Brief.ts"
import type * as Opening from "./Opening.ts"
import * as Recovery from "./Recovery.ts"

/** Records and stores the drive's first event. */
export const write = Effect.fnUntraced(
  function*(env: Env.Env, begin: Opening.Begin, brief: Brief.Brief) {
    const { journal } = env
    const before = journal.state
    if (begin._tag === "Start") {
      if (before.openCalls.length > 0) yield* Recovery.settleAll(env, "superseded")
      // what was said to a run that died stands before the new message
      for (const { kind, messages, seq } of before.queued) {
        journal.record({ _tag: "InputReceived", kind, messages, queued: seq }, before.runId)
      }
      journal.record({ _tag: "RunStarted", agent: brief.agent, input: begin.input, instructions: brief.instructions })
      journal.move(before.status === "idle" ? "driveStarted" : "newInput")
    } else {
      journal.record({
        _tag: "RunResumed",
        drive: before.drive + 1,
        cause: before.crashes > 0 ? "recovery" : isDecided(before) ? "approval" : "resume",
        ...(begin.limits === undefined ? {} : { limits: RunPolicy.merge(before.limits, begin.limits) }),
        ...(begin.data === undefined ? {} : { data: begin.data })
      })
      journal.move(RunState.isTurnOpen(before) ? "resumedWithOpenCalls" : "resumed")
    }
    yield* journal.commit
  }
)

/** Somebody decided about a call while no drive was there. */
const isDecided = ({ openCalls }: RunState.RunState) => openCalls.some(({ decision }) => decision !== undefined)
