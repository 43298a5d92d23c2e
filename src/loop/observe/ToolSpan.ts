/**
 * The span of one tool call, from its handler's start to its outcome, hooks after it included, or to its pause.
 *
 * Does not own what happens to the call when its span breaks (`Spans`), nor spans below it (`Shield`).
 */
import type * as Effect from "effect/Effect"
import * as OpenCall from "../../run/state/OpenCall.ts"
import type * as ToolOutcome from "../../run/ToolOutcome.ts"
import * as Transcript from "../../run/Transcript.ts"
import type * as Journal from "../log/Journal.ts"
import * as Conventions from "./Conventions.ts"
import * as Spans from "./Spans.ts"

interface Subject {
  readonly env: { readonly sessionId: string; readonly journal: Pick<Journal.Journal, "runId" | "transcript"> }
  readonly call: OpenCall.OpenCall
}

const execution: Spans.Kind<Subject, ToolOutcome.ToolOutcome | undefined> = {
  nameOf: ({ call }) => `execute_tool ${call.tool}`,
  kind: "internal",
  introduce: (span, { call, env: { journal, sessionId } }, hasContent) => {
    span.attribute(Conventions.operationName, "execute_tool")
    span.attribute(Conventions.toolName, call.tool)
    span.attribute(Conventions.toolType, "function")
    const sent = Transcript.sentId(journal.transcript, call.callId)
    if (sent !== undefined) span.attribute(Conventions.toolCallId, sent)
    span.attribute(Conventions.callId, call.callId)
    span.attribute(Conventions.conversationId, sessionId)
    span.attribute(Conventions.runId, journal.runId)
    span.attribute(Conventions.turn, call.turn)
    if (hasContent) span.attribute(Conventions.toolCallArguments, JSON.stringify(OpenCall.final(call)))
  },
  describe: (span, _, outcome, hasContent) => {
    span.attribute(Conventions.outcome, outcome?._tag ?? "Paused")
    if (outcome === undefined) return undefined
    if (hasContent && "result" in outcome) span.attribute(Conventions.toolCallResult, JSON.stringify(outcome.result))
    if (outcome._tag === "Succeeded") return undefined
    span.attribute(Conventions.errorType, outcome._tag)
    return Spans.failureOf(outcome, hasContent)
  }
}

/** Runs the call in a span of its own, above the handler's spans; for drives whose spans somebody sees. */
export const around = <A extends ToolOutcome.ToolOutcome | undefined>(
  env: Subject["env"],
  call: OpenCall.OpenCall,
  self: Effect.Effect<A>
): Effect.Effect<A> => Spans.around<Subject, A>(execution, { env, call }, self)
