/**
 * The rules for the tool calls of a log: one outcome each, one intent per drive, before the outcome if the handler ran.
 */
import type * as DurableEvent from "../../run/DurableEvent.ts"
import * as Message from "../../run/Message.ts"
import * as RunEvent from "../../run/RunEvent.ts"
import * as OpenCall from "../../run/state/OpenCall.ts"
import type { Rule } from "./Rule.ts"

/** `isOpen`: a call of the last message that has no outcome. */
export const make = () => {
  let open = new Set<string>()
  let hasRun = new Set<string>()
  /** of the drive under way */
  const intents = new Set<string>()
  const close = (say: (what: string) => void) => {
    for (const callId of open) say(`no outcome for ${callId}`)
    open = new Set()
  }
  const look: Rule = (event, say) => {
    switch (event._tag) {
      case "RunStarted":
      case "TurnStarted":
      case "TurnFinished":
        close(say)
        break
      case "AssistantMessage": {
        close(say)
        const calls = Message.toolCalls(event.message.content)
        open = new Set(calls.map((_, index) => OpenCall.callId(event.turn, index)))
        hasRun = new Set()
        break
      }
      case "ToolStarted": {
        const { callId, runId } = event
        if (!open.has(callId)) say(`an intent for no open call, ${callId}`)
        if (intents.has(`${runId} ${callId}`)) say(`a second intent for ${callId}`)
        intents.add(`${runId} ${callId}`)
        hasRun.add(callId)
        break
      }
      case "ToolPaused":
        if (!intents.has(`${event.runId} ${event.callId}`)) say(`${event.callId} paused without an intent`)
        break
      case "ApprovalResolved":
        // a result that a person gives replaces the run of its handler
        if (event.approved && event.result !== undefined) hasRun.add(event.callId)
        break
      case "ToolSettled":
        if (needsIntent(event) && !hasRun.has(event.callId)) say(`${event.callId} ran without an intent`)
        if (!open.delete(event.callId)) say(`an outcome for no open call, ${event.callId}`)
        break
      default:
        if (!RunEvent.isEnd(event)) break
        if (leavesOpen(event)) intents.clear()
        else close(say)
    }
  }
  return { look, isOpen: (callId: string) => open.has(callId) }
}

/** Whether its handler ran, or may have; a result from a hook needs no intent. */
const needsIntent = ({ hook, outcome }: DurableEvent.Of<"ToolSettled">): boolean =>
  hook === undefined && ofHandlers.has(outcome._tag)

const ofHandlers: ReadonlySet<string> = new Set([
  "Succeeded",
  "Failed",
  "TimedOut",
  "Interrupted",
  "OutcomeUnknown",
  "NotEncodable"
])

/** Whether the next drive continues the calls of this one. */
const leavesOpen = (end: RunEvent.End): boolean => end._tag === "RunSuspended" || RunEvent.isLeft(end)
