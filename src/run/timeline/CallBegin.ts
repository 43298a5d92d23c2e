/** When a model call began, by the log: an answer came so long after it. Pure. Does not own what is made of that time. */
import type * as RunEvent from "../RunEvent.ts"

/** With what the log does to the time at which the call under way began; `undefined`: none is under way after this event. */
export const after = (before: number | undefined, event: RunEvent.Durable): number | undefined => {
  switch (event._tag) {
    case "TurnStarted":
    case "ModelSwitched":
      return event.at
    case "AttemptDiscarded":
      return event.delay === undefined ? undefined : event.at + event.delay
    case "RunStarted":
    case "RunResumed":
    case "AssistantMessage":
      return undefined
    default:
      return before
  }
}
