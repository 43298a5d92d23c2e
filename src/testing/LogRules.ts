/**
 * What every log must be, whatever happened while it was written: the guarantees that can be read off one. Pure.
 *
 * Does not own what happened outside, such as what tools did; see `CrashSweep`.
 */
import type * as DurableEvent from "../run/DurableEvent.ts"
import * as Message from "../run/Message.ts"
import * as RunEvent from "../run/RunEvent.ts"
import * as RunInput from "../run/RunInput.ts"
import * as OpenCall from "../run/state/OpenCall.ts"
import * as Queue from "../run/state/Queue.ts"
import * as Transcript from "../run/Transcript.ts"
import * as StrictModel from "./StrictModel.ts"

/**
 * What is wrong with a log, in words; empty when nothing is: `seq` without gap or double, events only inside drives, one
 * end a drive, one outcome a call, one intent a call and drive, an intent before an outcome that needs one, one answer a
 * question, none without one, a yes to its arguments before the intent of a call that was asked about, what was queued
 * received at most once and never behind an end that gave it up, and messages that `StrictModel` accepts after every event. A
 * last drive without an end is wrong unless `mayBeOpen`.
 */
export const violations = (log: ReadonlyArray<RunEvent.Durable>, mayBeOpen = false): Array<string> => {
  const found: Array<string> = []
  const intents = new Set<string>()
  const questions = new Map<string, Question>()
  let calls = new Map<string, number>()
  let isDriven = false
  let queue: Queue.Queue = []
  let transcript = Transcript.empty
  log.forEach((event, at) => {
    const say = (what: string) => found.push(`event ${at + 1} (${event._tag}): ${what}`)
    const sayUnsettled = () => {
      for (const [callId, count] of calls) if (count !== 1) say(`${count} outcomes for ${callId}`)
      calls = new Map()
    }
    if (event.seq !== at + 1) say(`seq ${event.seq}`)
    const begins = event._tag === "RunStarted" || event._tag === "RunResumed"
    // what a drive left open when it died or was suspended is answered then, or settled before the next message's run begins,
    // and what was said to it received; a context is compacted by hand where nothing runs
    const isSettling = (event._tag === "ContextCompacted" && event.cause === "manual") ||
      event._tag === "CompactionDiscarded" ||
      ((event._tag === "ToolSettled" || event._tag === "ApprovalResolved") && calls.get(event.callId) === 0) ||
      (event._tag === "InputReceived" && event.queued !== undefined)
    if (!isSettling && begins === isDriven) say(begins ? "a drive begins inside another" : "outside a drive")
    if (!isSettling || isDriven) isDriven = !RunEvent.isEnd(event)
    if (event._tag === "RunStarted" || event._tag === "TurnStarted") sayUnsettled()
    if (event._tag === "AssistantMessage") {
      calls = new Map(
        Message.toolCalls(event.message.content).map((_, index) => [OpenCall.callId(event.turn, index), 0])
      )
    }
    if (event._tag === "ApprovalRequested") {
      const { approvalId, callId, digest, params, runId } = event
      const before = questions.get(`${runId}/${callId}`)
      if (before?.digest === digest && before.answer !== "edited") say(`a second question about ${callId}`)
      questions.set(`${runId}/${callId}`, { approvalId, digest, params, answer: "open" })
    }
    if (event._tag === "ApprovalResolved") {
      const name = `${event.runId}/${event.callId}`
      const question = questions.get(name)
      const { approvalId, approved, params } = event
      if (question?.answer !== "open" || question.approvalId !== approvalId) {
        say(`an answer to no open question, ${name}`)
      }
      const answer = !approved ? "no" : params === undefined ? "yes" : "edited"
      if (question !== undefined) questions.set(name, { ...question, params: params ?? question.params, answer })
    }
    if (event._tag === "ToolStarted") {
      const question = questions.get(`${event.runId}/${event.callId}`)
      if (question !== undefined && !isAllowed(question, event.params)) say(`${event.callId} was not allowed`)
      if (!calls.has(event.callId)) say(`an intent for no call, ${event.callId}`)
      if (intents.has(`${event.runId} ${event.callId}`)) say(`a second intent for ${event.callId}`)
      intents.add(`${event.runId} ${event.callId}`)
    }
    if (event._tag === "ToolSettled") calls.set(event.callId, (calls.get(event.callId) ?? NaN) + 1)
    const staysOpen = event._tag === "RunSuspended" || (event._tag === "RunAborted" && event.reason === "crashed")
    if (staysOpen) intents.clear()
    else if (event._tag === "TurnFinished" || RunEvent.isEnd(event)) sayUnsettled()
    if (event._tag === "InputQueued") queue = Queue.add(queue, event)
    if (event._tag === "InputReceived" && event.queued !== undefined) {
      if (!queue.some((queued) => isReceived(queued, event))) say(`nothing is queued as ${event.queued}`)
      queue = Queue.receive(queue, event)
    }
    if (RunEvent.isEnd(event)) queue = Queue.end(queue, event)
    if (event._tag === "RunStarted") {
      for (const { seq } of queue) say(`what was queued as ${seq} is lost`)
      queue = []
    }
    transcript = Transcript.append(transcript, event)
    found.push(...illegal(transcript).map((what) => `messages after event ${at + 1} (${event._tag}): ${what}`))
  })
  if (isDriven && !mayBeOpen) found.push("the last drive has no end")
  return found
}

/** `params` are those that a yes is to; `edited`: to others than were asked about, of which hooks may make those again. */
interface Question extends Pick<DurableEvent.Of<"ApprovalRequested">, "approvalId" | "digest" | "params"> {
  readonly answer: "open" | "yes" | "edited" | "no"
}

const isAllowed = ({ answer, params }: Question, started: Question["params"]): boolean =>
  (answer === "yes" || answer === "edited") && RunInput.canonical(params) === RunInput.canonical(started)

const isReceived = (queued: Queue.Queued, event: DurableEvent.Of<"InputReceived">): boolean =>
  queued.seq === event.queued && JSON.stringify([queued.kind, queued.messages]) ===
    JSON.stringify([event.kind, event.messages])

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
