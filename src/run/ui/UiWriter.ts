/**
 * A run's events as the chunks of a UI message stream, event by event: one message per run, one step per turn.
 *
 * Does not own what one attempt shows (`UiAttempt`), what was said (`UiContent`), nor the stream (`UiMessages`).
 */
import * as RunError from "../RunError.ts"
import * as RunEvent from "../RunEvent.ts"
import * as ToolOutcome from "../ToolOutcome.ts"
import { UiAttempt } from "./UiAttempt.ts"
import type { Chunk, FinishReason } from "./UiChunk.ts"
import * as UiContent from "./UiContent.ts"

export interface Options {
  /** default `true` */
  readonly sendReasoning?: boolean | undefined
  /** what the page is told about a run that failed, or a stream that broke; default "An error occurred." */
  readonly onError?: ((error: RunError.RunError) => string) | undefined
  /** kept with the page's message, made from the run's end; default none */
  readonly messageMetadata?: ((end: RunEvent.End) => unknown) | undefined
}

/** The id of the page's message with a run's answer. The run's own id may be that of the user's message. */
export const messageIdOf = (runId: string): string => `${runId}${answerOf}`

/** The run whose answer a message is, by the message's id; `undefined` if it is no run's answer. */
export const runIdOf = (messageId: string): string | undefined =>
  messageId.endsWith(answerOf) ? messageId.slice(0, -answerOf.length) : undefined

const answerOf = ":answer"

type Resolved = Extract<RunEvent.Durable, { _tag: "ApprovalResolved" }>
type Settled = Extract<RunEvent.Durable, { _tag: "ToolSettled" }>
type Paused = Extract<RunEvent.Durable, { _tag: "ToolPaused" }>

interface Question {
  readonly approvalId: string
  /** undefined until it is answered */
  approved: boolean | undefined
  /** the page shows the call as one that it answers itself, and no question */
  readonly needsResult: boolean
}

const idOf = ({ callId, runId }: { readonly callId: string; readonly runId: string }): string =>
  UiContent.toolCallId(runId, callId)

export class UiWriter {
  readonly #options: Options
  #runId: string | undefined
  /** what came before it was known */
  readonly #early: Array<RunEvent.RunEvent> = []
  /** the attempt that the page is shown */
  #attempt: UiAttempt | undefined
  /** calls that the page was shown here, by the provider's id */
  readonly #calls = new Map<string, string>()
  /** turns whose answer the page was shown here */
  readonly #turns = new Set<number>()
  /** what calls run with, until they have their outcome */
  readonly #inputs = new Map<string, unknown>()
  /** the questions that the page was shown here, by call */
  readonly #questions = new Map<string, Question>()
  /** of the drive; dropped if the run goes on after it */
  #end: RunEvent.End | undefined
  #error: RunError.RunError | undefined

  constructor(options: Options) {
    this.#options = options
  }

  /**
   * Ignores what a new run first settles of the run before it: that is not part of its message. A reader that joins a run may first see
   * the same of that run, so the first event of another kind decides whose message it is.
   */
  take(event: RunEvent.RunEvent): Array<Chunk> {
    if (this.#runId !== undefined) return event.runId === this.#runId ? this.#chunksOf(event) : []
    this.#early.push(event)
    if (event._tag === "ToolSettled" || event._tag === "InputReceived") return []
    this.#runId = event.runId
    const ours = this.#early.splice(0).filter(({ runId }) => runId === event.runId)
    return [{ type: "start", messageId: messageIdOf(event.runId) }, ...ours.flatMap((early) => this.#chunksOf(early))]
  }

  /** The stream broke: the page is told this error, unless the run has an end to tell. */
  broken(error: RunError.RunError): Array<Chunk> {
    this.#error = error
    return []
  }

  /** The stream is over; `isFollowed`: another run follows this one. */
  over(isFollowed = false): Array<Chunk> {
    const end = this.#end
    // a run that goes on by itself asks for its answer anew, and a page that joins it then would have both
    const unfinished = end === undefined || (RunEvent.isLeft(end) && !isFollowed) ? [] : RunEvent.unfinishedOf(end)
    const open = this.#attempt?.over(unfinished) ?? UiContent.unfinished(unfinished)
    if (end !== undefined) return [...open, ...this.#endOf(end)]
    return this.#error === undefined ? open : [...open, this.#failed(this.#error)]
  }

  #chunksOf(event: RunEvent.RunEvent): Array<Chunk> {
    if (RunEvent.isDelta(event)) return this.#delta(event)
    if (RunEvent.isEnd(event)) {
      this.#end = event
      return []
    }
    switch (event._tag) {
      case "RunResumed":
        this.#end = undefined
        return this.#discard()
      case "TurnStarted":
        return [{ type: "start-step" }]
      case "TurnFinished":
        return [{ type: "finish-step" }]
      case "AttemptDiscarded":
        return this.#discard()
      case "AssistantMessage": {
        const attempt = this.#at(event)
        this.#attempt = undefined
        this.#turns.add(event.turn)
        const said = attempt.settled(event.message.content, this.#sendsReasoning, this.#calls)
        return [...said, ...UiContent.sources(event.turn, event.sources)]
      }
      case "ApprovalRequested": {
        const { approvalId, callId, needsResult = false } = event
        this.#questions.set(callId, { approvalId, approved: undefined, needsResult })
        return needsResult ? [] : [{ type: "tool-approval-request", approvalId, toolCallId: idOf(event) }]
      }
      case "ApprovalResolved":
        return this.#resolved(event)
      case "ToolStarted":
        this.#inputs.set(event.callId, event.params)
        return []
      case "ToolPaused":
        return this.#paused(event)
      case "ToolProgress":
        return [{ type: "tool-output-available", toolCallId: idOf(event), output: event.value, preliminary: true }]
      case "ToolSettled":
        return this.#settled(event)
      case "InputReceived": {
        const parts = event.messages.flatMap(UiContent.user)
        return [{ type: "steering-message", id: `${event.runId}:${event.seq}`, parts }]
      }
      default:
        return []
    }
  }

  get #sendsReasoning(): boolean {
    return this.#options.sendReasoning ?? true
  }

  #at(event: Pick<RunEvent.Delta, "runId" | "turn" | "attempt">): UiAttempt {
    const known = this.#attempt
    return known?.turn === event.turn && known.attempt === event.attempt ? known : new UiAttempt(event)
  }

  #delta(event: RunEvent.Delta): Array<Chunk> {
    if (event._tag === "ReasoningDelta" && !this.#sendsReasoning) return []
    this.#attempt = this.#at(event)
    return this.#attempt.delta(event)
  }

  #discard(): Array<Chunk> {
    const isShown = this.#attempt !== undefined
    this.#attempt = undefined
    return isShown ? [{ type: "reset-step" }] : []
  }

  /** A page that was not shown the question already knows the answer: it gave it. The first answer counts. */
  #resolved({ approvalId, approved, callId, reason }: Resolved): Array<Chunk> {
    const question = this.#questions.get(callId)
    const isOpen = question?.approvalId === approvalId && question.approved === undefined
    return isOpen ? this.#answer(question, approved, reason) : []
  }

  #answer(question: Question | undefined, approved: boolean, reason?: string): Array<Chunk> {
    if (question === undefined || question.approved === approved) return []
    question.approved = approved
    const { approvalId, needsResult } = question
    if (needsResult) return []
    return [{ type: "tool-approval-response", approvalId, approved, ...(reason === undefined ? {} : { reason }) }]
  }

  /** On the page the call is under way again: the person's answer is dealt with, and the progress it showed is not a result. */
  #paused(event: Paused): Array<Chunk> {
    const { callId, tool: toolName } = event
    const input = this.#inputs.get(callId)
    return input === undefined ? [] : [{ type: "tool-input-available", toolCallId: idOf(event), toolName, input }]
  }

  /**
   * What became of a call; one that ran with other arguments than the model's is shown with those. The AI SDK accepts no outcome
   * beside a question without its answer: the outcome is the answer then.
   */
  #settled(event: Settled): Array<Chunk> {
    const { callId, edited, outcome, tool } = event
    const toolCallId = idOf(event)
    const question = this.#questions.get(callId)
    this.#inputs.delete(callId)
    const input: Array<Chunk> = edited === undefined
      ? []
      : [{ type: "tool-input-available", toolCallId, toolName: tool, input: edited }]
    if (outcome._tag === "Succeeded") {
      const answered = this.#answer(question, true)
      return [...answered, ...input, { type: "tool-output-available", toolCallId, output: outcome.result }]
    }
    const errorText = UiContent.inWords(ToolOutcome.toResult(outcome).result)
    if (this.#isNo(event)) {
      const answered = this.#answer(question, false, outcome._tag === "Denied" ? outcome.reason : errorText)
      return [...answered, { type: "tool-output-denied", toolCallId }]
    }
    return [...input, { type: "tool-output-error", toolCallId, errorText }]
  }

  /**
   * Whether the page shows the call as denied: when a person was asked about it, and nobody said yes. It shows it as failed when
   * nobody was asked, or nobody gave the result that it needs. If the turn was not shown here, the page was asked before.
   */
  #isNo({ callId, hook, outcome, turn }: Settled): boolean {
    const question = this.#questions.get(callId)
    if (question !== undefined) return !question.needsResult && question.approved !== true
    return outcome._tag === "Denied" && hook === undefined && !this.#turns.has(turn)
  }

  #endOf(end: RunEvent.End): Array<Chunk> {
    const messageMetadata = this.#options.messageMetadata?.(end)
    const finish = (finishReason: FinishReason): Chunk => ({
      type: "finish",
      finishReason,
      ...(messageMetadata === undefined ? {} : { messageMetadata })
    })
    switch (end._tag) {
      case "RunCompleted":
        return [finish(end.reason === "contentFilter" ? "content-filter" : end.reason === "other" ? "other" : "stop")]
      case "RunLimited":
        return [finish(end.reason === "length" ? "length" : "other")]
      case "RunSuspended":
        return [finish("tool-calls")]
      case "RunFailed":
        return [finish("error"), this.#failed(RunError.fromStored(end.error))]
      case "RunAborted":
        return [
          ...(messageMetadata === undefined ? [] : [{ type: "message-metadata", messageMetadata } as const]),
          { type: "abort", reason: end.reason }
        ]
    }
  }

  #failed(error: RunError.RunError): Chunk {
    return { type: "error", errorText: this.#options.onError?.(error) ?? "An error occurred." }
  }
}
