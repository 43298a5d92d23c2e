/**
 * What every log must be, whatever happened while it was written, and short forms of events for comparison.
 */
import * as Message from "../../src/run/Message.ts"
import * as OpenCall from "../../src/run/OpenCall.ts"
import * as RunEvent from "../../src/run/RunEvent.ts"
import * as Transcript from "../../src/run/Transcript.ts"
import * as StrictModel from "../../src/testing/StrictModel.ts"

type Log = ReadonlyArray<RunEvent.Durable>

export const tags = (events: ReadonlyArray<RunEvent.RunEvent>): Array<string> => events.map((event) => event._tag)

export const durable = (events: ReadonlyArray<RunEvent.RunEvent>): Array<RunEvent.Durable> =>
  events.filter(RunEvent.isDurable)

export const only = <T extends RunEvent.RunEvent["_tag"]>(events: ReadonlyArray<RunEvent.RunEvent>, tag: T) =>
  events.filter((event): event is Extract<RunEvent.RunEvent, { _tag: T }> => event._tag === tag)

/** `callId outcome` of every settled call, with the reason of those that did not run. */
export const outcomes = (events: ReadonlyArray<RunEvent.RunEvent>): Array<string> =>
  only(events, "ToolSettled").map(({ callId, outcome }) =>
    `${callId} ${outcome._tag}${outcome._tag === "NotExecuted" ? `(${outcome.reason})` : ""}`
  )

/** The moves between statuses as `from>to`. */
export const moves = (events: ReadonlyArray<RunEvent.RunEvent>): Array<string> =>
  only(events, "StatusChanged").map(({ from, to }) => `${from}>${to}`)

/** `RunLimited(turns)`: the end of a log, or its last event when that is none. */
export const endOf = (events: ReadonlyArray<RunEvent.RunEvent>): string => {
  const last = events[events.length - 1]
  if (last === undefined) return "nothing"
  if (!RunEvent.isEnd(last)) return last._tag
  return `${last._tag}(${last._tag === "RunFailed" ? last.error.reason._tag : last.reason})`
}

/** What is wrong with a log, in words; empty when nothing is. An unfinished last drive is wrong unless `mayBeOpen`. */
export const violations = (log: Log, mayBeOpen = false): Array<string> => {
  const found: Array<string> = []
  const intents = new Set<string>()
  let calls = new Map<string, number>()
  let isDriven = false
  let transcript = Transcript.empty
  log.forEach((event, at) => {
    const say = (what: string) => found.push(`event ${at + 1} (${event._tag}): ${what}`)
    if (event.seq !== at + 1) say(`seq ${event.seq}`)
    const begins = event._tag === "RunStarted" || event._tag === "RunResumed"
    // what a drive left open when it died or was suspended is settled before the next message's run begins
    const isSettling = event._tag === "ToolSettled" && calls.get(event.callId) === 0
    if (!isSettling && begins === isDriven) say(begins ? "a drive begins inside another" : "outside a drive")
    if (!isSettling || isDriven) isDriven = !RunEvent.isEnd(event)
    if (event._tag === "RunStarted" || event._tag === "TurnStarted") {
      for (const [callId, count] of calls) if (count !== 1) say(`${count} outcomes for ${callId}`)
      calls = new Map()
    }
    if (event._tag === "AssistantMessage") {
      calls = new Map(
        Message.toolCalls(event.message.content).map((_, index) => [OpenCall.callId(event.turn, index), 0])
      )
    }
    if (event._tag === "ToolStarted") {
      if (!calls.has(event.callId)) say(`an intent for no call, ${event.callId}`)
      if (intents.has(`${event.runId} ${event.callId}`)) say(`a second intent for ${event.callId}`)
      intents.add(`${event.runId} ${event.callId}`)
    }
    if (event._tag === "ToolSettled") calls.set(event.callId, (calls.get(event.callId) ?? NaN) + 1)
    const staysOpen = event._tag === "RunSuspended" || (event._tag === "RunAborted" && event.reason === "crashed")
    if (staysOpen) intents.clear()
    else if (event._tag === "TurnFinished" || RunEvent.isEnd(event)) {
      for (const [callId, count] of calls) if (count !== 1) say(`${count} outcomes for ${callId}`)
      calls = new Map()
    }
    transcript = Transcript.append(transcript, event)
    found.push(...illegal(transcript).map((what) => `messages after event ${at + 1} (${event._tag}): ${what}`))
  })
  if (isDriven && !mayBeOpen) found.push("the last drive has no end")
  return found
}

/** What the strictest provider has against a transcript that a user message is added to. */
const illegal = (transcript: Transcript.Transcript): ReadonlyArray<string> => {
  const messages = Transcript.messages(transcript)
  const awaited = messages.at(-1)?.role === "assistant" ? [...messages, Message.user("go on")] : messages
  return StrictModel.violations({
    messages: awaited,
    tools: [],
    toolChoice: "none",
    metadata: { sessionId: "", runId: "", turn: 1, attempt: 1 }
  })
}
