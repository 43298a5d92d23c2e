/**
 * What must hold of every log, whatever happened while it was written: the guarantees that can be checked on a log alone. Pure.
 *
 * Does not own what happened outside, such as what tools did (`CrashSweep`).
 */
import type * as DurableEvent from "../run/DurableEvent.ts"
import * as Message from "../run/Message.ts"
import * as RunEvent from "../run/RunEvent.ts"
import * as Queue from "../run/state/Queue.ts"
import * as Transcript from "../run/Transcript.ts"
import * as Calls from "./rules/Calls.ts"
import * as Questions from "./rules/Questions.ts"
import type { Rule } from "./rules/Rule.ts"
import * as StrictModel from "./StrictModel.ts"

/**
 * What is wrong with a log, in words that name the event; empty when nothing is:
 *
 * - `seq` counts from 1, without gaps or duplicates
 * - events only inside drives, and one end per drive; a last drive without an end is wrong unless `mayBeOpen`
 * - no event of another run than the one that began last
 * - one outcome per call; one intent per call and drive; an intent before the outcome of a call that ran
 * - one answer per question, and none without a question; if a call was asked about, a yes to its arguments before its
 *   intent
 * - what was queued is received at most once, never after an end that gave it up, and is not lost; only the end of
 *   a run that goes on by itself keeps any of it, and only what is queued
 * - messages that `StrictModel` accepts after every event
 */
export const violations = (log: ReadonlyArray<RunEvent.Durable>, mayBeOpen = false): Array<string> => {
  const found: Array<string> = []
  const calls = Calls.make()
  const drives = makeDrives(calls.isOpen)
  const rules: ReadonlyArray<Rule> = [drives.look, calls.look, Questions.make(), makeInputs()]
  let transcript = Transcript.empty
  log.forEach((event, at) => {
    const where = `event ${at + 1} (${event._tag})`
    const say = (what: string) => found.push(`${where}: ${what}`)
    if (event.seq !== at + 1) say(`seq ${event.seq}`)
    for (const rule of rules) rule(event, say)
    transcript = Transcript.append(transcript, event)
    found.push(...illegal(transcript).map((what) => `messages after ${where}: ${what}`))
  })
  if (drives.isDriven() && !mayBeOpen) found.push("the last drive has no end")
  return found
}

/**
 * Checks that drives follow one another, with events of no run but the one that began last. `isOpenCall`: a call of the last message that
 * has no outcome.
 */
const makeDrives = (isOpenCall: (callId: string) => boolean) => {
  let isDriven = false
  let runId: string | undefined
  const look: Rule = (event, say) => {
    if (event._tag === "RunStarted") runId = event.runId
    if (event.runId !== runId) say(`of run ${event.runId}, where the last run is ${runId ?? "none"}`)
    const begins = event._tag === "RunStarted" || event._tag === "RunResumed"
    const isOfItsOwn = isBetweenDrives(event, isOpenCall)
    if (!isOfItsOwn && begins === isDriven) say(begins ? "a drive begins inside another" : "outside a drive")
    if (!isOfItsOwn) isDriven = !RunEvent.isEnd(event)
  }
  return { look, isDriven: () => isDriven }
}

/**
 * Whether an event may come where no drive is: an answer or an outcome for a call that the last drive left open when it was
 * suspended or its run was left, the receipt of what was queued for it, or a manual compaction.
 */
const isBetweenDrives = (event: RunEvent.Durable, isOpenCall: (callId: string) => boolean): boolean => {
  switch (event._tag) {
    case "ContextCompacted":
      return event.cause === "manual"
    case "CompactionDiscarded":
      return true
    case "ToolSettled":
    case "ApprovalResolved":
      return isOpenCall(event.callId)
    case "InputReceived":
      return event.queued !== undefined
    default:
      return false
  }
}

/** Checks what is said to runs under way. */
const makeInputs = (): Rule => {
  let queue: Queue.Queue = []
  /** where the drive under way began, if it resumed a run */
  let drive = 0
  return (event, say) => {
    if (event._tag === "InputReceived" && event.queued !== undefined) {
      if (!queue.some((queued) => isReceived(queued, event))) say(`nothing is queued as ${event.queued}`)
    }
    if (event._tag === "RunResumed") drive = event.seq
    for (const kept of RunEvent.isEnd(event) ? RunEvent.keptBy(event) : []) {
      if (event._tag === "RunSuspended") {
        if (kept > drive) say(`keeps ${kept}, which no earlier drive was told`)
      } else if (RunEvent.isEnd(event) && !RunEvent.isLeft(event)) {
        say("keeps what only an end by a shutdown, or by a store that did not answer, may keep")
      }
      if (!queue.some(({ seq }) => seq === kept)) say(`nothing is queued as ${kept}`)
    }
    if (event._tag === "RunStarted") { for (const { seq } of queue) say(`what was queued as ${seq} is lost`) }
    queue = Queue.evolve(queue, event)
  }
}

const isReceived = (queued: Queue.Queued, event: DurableEvent.Of<"InputReceived">): boolean =>
  queued.seq === event.queued && JSON.stringify([queued.kind, queued.messages]) ===
    JSON.stringify([event.kind, event.messages])

/** What the strictest provider would refuse in a transcript with one more user message. */
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
