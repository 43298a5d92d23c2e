/**
 * The rules for the questions of a log: one answer each, and a call that was asked about runs only after a yes to its arguments.
 * A yes no longer counts once a result is needed.
 */
import { canonical } from "../../run/Canonical.ts"
import type * as DurableEvent from "../../run/DurableEvent.ts"
import type { Rule } from "./Rule.ts"

export const make = (): Rule => {
  const questions = new Map<string, Question>()
  return (event, say) => {
    if (event._tag === "ApprovalRequested") {
      const { approvalId, callId, digest, needsResult, params, runId } = event
      const before = questions.get(`${runId}/${callId}`)
      const isLeft = before?.answer === "edited" || (before?.answer === "yes" && needsResult === true)
      if (before?.digest === digest && !isLeft) say(`a second question about ${callId}`)
      questions.set(`${runId}/${callId}`, { approvalId, digest, params, answer: "open" })
    }
    if (event._tag === "ApprovalResolved") {
      const { approvalId, approved, callId, params, result, runId } = event
      const name = `${runId}/${callId}`
      const question = questions.get(name)
      if (question?.answer !== "open" || question.approvalId !== approvalId) {
        say(`an answer to no open question, ${name}`)
      }
      const answer = !approved ? "no" : result !== undefined ? "result" : params === undefined ? "yes" : "edited"
      if (question !== undefined) questions.set(name, { ...question, params: params ?? question.params, answer })
    }
    if (event._tag === "ToolStarted") {
      const question = questions.get(`${event.runId}/${event.callId}`)
      if (question !== undefined && !isAllowed(question, event.params)) say(`${event.callId} was not allowed`)
    }
  }
}

/**
 * `params` are those of the yes; `edited`: a yes to other arguments than were asked about, which hooks may change again;
 * `result`: nothing is left to run.
 */
interface Question extends Pick<DurableEvent.Of<"ApprovalRequested">, "approvalId" | "digest" | "params"> {
  readonly answer: "open" | "yes" | "edited" | "result" | "no"
}

const isAllowed = ({ answer, params }: Question, started: Question["params"]): boolean =>
  (answer === "yes" || answer === "edited") && canonical(params) === canonical(started)
