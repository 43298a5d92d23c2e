/** How a drive begins in the log: a run started, or resumed, and what an older run left waiting settled before that. */
import * as Effect from "effect/Effect"
import type * as OpenCall from "../run/OpenCall.ts"
import * as RunPolicy from "../run/RunPolicy.ts"
import type * as RunState from "../run/RunState.ts"
import type * as ToolOutcome from "../run/ToolOutcome.ts"
import type * as Env from "./Env.ts"

/** Records and stores the drive's first event. */
export const write = (
  env: Env.Env,
  { begin, brief }: Pick<Env.Request, "begin" | "brief">,
  before: RunState.RunState
) =>
  Effect.suspend(() => {
    const { journal } = env
    if (begin._tag === "Start") {
      supersede(env, before)
      journal.record({ _tag: "RunStarted", agent: brief.agent, input: begin.input, instructions: brief.instructions })
      journal.move(before.status === "idle" ? "driveStarted" : "newInput")
    } else {
      journal.record({
        _tag: "RunResumed",
        drive: before.drive + 1,
        cause: "resume",
        ...(begin.limits === undefined ? {} : { limits: RunPolicy.merge(before.limits, begin.limits) }),
        ...(begin.data === undefined ? {} : { data: begin.data })
      })
      journal.move(before.openCalls.length > 0 ? "resumedWithOpenCalls" : "resumed")
    }
    return journal.commit
  })

/** A new input settles the calls that an older run left waiting for a person. */
const supersede = ({ journal }: Env.Env, before: RunState.RunState) => {
  for (const { callId, phase, tool, turn } of before.openCalls) {
    const outcome = superseded[phase]
    journal.record({ _tag: "ToolSettled", turn, callId, tool, outcome, duration: 0 }, before.runId)
  }
}

const superseded: Record<OpenCall.OpenCall["phase"], ToolOutcome.ToolOutcome> = {
  awaiting: { _tag: "Denied", reason: "superseded by a new message" },
  pending: { _tag: "NotExecuted", reason: "superseded" },
  started: { _tag: "OutcomeUnknown" }
}
