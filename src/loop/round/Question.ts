/**
 * A question about one call: recorded, asked, and answered by what comes first: the approver of this process, a decision from
 * elsewhere, or its expiry. The answer is in the log, where the call finds it.
 *
 * Does not own which calls ask (`Judging`), nor what the call does meanwhile and afterwards (`Permission`).
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import * as Approval from "../../run/Approval.ts"
import * as Canonical from "../../run/Canonical.ts"
import * as InputCheck from "../../run/InputCheck.ts"
import * as Bounds from "../../run/log/Bounds.ts"
import * as OpenCall from "../../run/state/OpenCall.ts"
import * as Approver from "../../services/Approver.ts"
import * as Warning from "../../services/Warning.ts"
import * as AppCode from "../env/AppCode.ts"
import * as Digest from "../env/Digest.ts"
import type * as Env from "../env/Env.ts"
import * as Given from "./Given.ts"

/** Records the question, unless it is already in the log; a question about other arguments than before is a new one. */
export const pose = Effect.fnUntraced(function*(
  env: Env.Env,
  call: OpenCall.OpenCall
): Effect.fn.Return<Approver.Question> {
  const { journal, policy, sessionId } = env
  const { callId, tool, turn } = call
  const params = OpenCall.asked(call)
  const approvalId = call.approvalId ?? newId(journal, callId)
  const digest = yield* Digest.sha256(Canonical.canonical(params))
  const isNew = call.approvalId === undefined
  const expiresAt = isNew && policy.approvalTimeout !== undefined
    ? journal.now() + policy.approvalTimeout
    : call.expiresAt
  const needsResult = call.needsResult === true || env.executor.needsResult(env.handlers, tool)
  const more = { ...(expiresAt === undefined ? {} : { expiresAt }), ...(needsResult ? { needsResult } : {}) }
  if (isNew) journal.record({ _tag: "ApprovalRequested", turn, callId, tool, approvalId, params, digest, ...more })
  // it is looked at again after the answer
  const data = journal.state.input?.data
  return Object.freeze({ sessionId, runId: journal.runId, approvalId, callId, tool, params, data, digest, ...more })
})

/** Unique in the session, even where a question about the same call was asked before. */
const newId = (journal: Env.Env["journal"], callId: string): string => {
  const { openCalls, seq } = journal.state
  const wasAsked = openCalls.some((open) => open.callId === callId && open.approvalId !== undefined)
  return `${OpenCall.approvalId(journal.runId, callId)}${wasAsked ? `:${seq + 1}` : ""}`
}

/** Completes when the question has its answer, from wherever, or when `word` completes. */
export const decided = (env: Env.Env, question: Approver.Question, word: Effect.Effect<void>): Effect.Effect<void> =>
  Effect.suspend(() => {
    const isDecided = () => Approval.waiting(env.journal.state, question.approvalId) === undefined
    if (isDecided()) return Effect.void
    const { expiresAt } = question
    if (OpenCall.isExpired(question, env.journal.now())) return Effect.sync(() => expire(env, question))
    return Effect.raceAllFirst([
      word,
      env.waitingCalls.decided(question.callId, isDecided),
      ...(expiresAt === undefined ? [] : [expiring(env, question, expiresAt)])
    ])
  })

/** Completes with the answer of this process's approver; where there is none, after `nobody`. */
export const asking = (env: Env.Env, question: Approver.Question, nobody: Effect.Effect<void>): Effect.Effect<void> =>
  Effect.flatMap(
    ask(env, question),
    (answer) => answer === undefined || isShort(question, answer) ? nobody : take(env, question, answer)
  )

/** A yes that lacks the result that is asked for; one that has it may still come from elsewhere. */
const isShort = ({ needsResult }: Approver.Question, answer: Approver.Answer): boolean =>
  needsResult === true && answer.approved && answer.result === undefined

/** The answer of this process's approver; one that breaks does not answer. */
const ask = (env: Env.Env, question: Approver.Question): Effect.Effect<Approver.Answer | undefined> => {
  const asked = Effect.flatMap(Approver.Approver, (approver) => AppCode.answered(approver.ask(question), said))
  return Effect.flatMap(
    Effect.exit(AppCode.run(env, `approval of ${question.tool}`, question.callId, asked)),
    (exit) => {
      if (Exit.isFailure(exit)) return warn(question, Warning.howOf(exit.cause))
      return Result.match(exit.value, {
        onFailure: (odd) => warn(question, `answered ${odd} instead of { approved: true } or { approved: false }`),
        onSuccess: Effect.succeed
      })
    }
  )
}

const warn = ({ approvalId, tool }: Approver.Question, how: string): Effect.Effect<undefined> =>
  Effect.as(Warning.warn(`the Approver ${how} (${tool}, question "${approvalId}"); so it does not answer`), undefined)

/**
 * An answer, read once; anything else that untyped code returns is neither a yes nor a no, and a yes with a field that nobody reads
 * is none: it may ask for what would not be done.
 */
const said = (answer: Approver.Answer | undefined): Result.Result<Approver.Answer | undefined, string> => {
  if (answer === undefined) return Result.succeed(undefined)
  const word: Partial<Approver.Answer> = { ...answer }
  const { approved } = word
  if (typeof approved !== "boolean") return Result.fail(Warning.whatIs(answer))
  return !approved || Result.isSuccess(InputCheck.noOthers("an answer", word, answerNames))
    ? Result.succeed({ ...word, approved })
    : Result.fail("a yes with other fields than approved, by, reason, params and result")
}

const answerNames = { _tag: true, approved: true, by: true, reason: true, params: true, result: true }

/** Records an answer; a result or arguments that do not fit the tool make it a no. */
const take = Effect.fnUntraced(function*(env: Env.Env, question: Approver.Question, answer: Approver.Answer) {
  const by = wordsOf(answer.by)
  if (!answer.approved) return record(env, question, { approved: false, by, reason: wordsOf(answer.reason) })
  const given = yield* Effect.result(Given.of(env, question.tool, answer))
  if (Result.isSuccess(given)) return record(env, question, { approved: true, by, ...given.success })
  const what = answer.result === undefined ? "was to run with other arguments" : "was given a result"
  record(env, question, { approved: false, by, reason: `the call ${what}, but ${given.failure.message}` })
})

/** As much of a text as a log holds; anything else that untyped code returns is left out. */
const wordsOf = (given: string | undefined): string | undefined =>
  typeof given === "string" ? Bounds.message(given) : undefined

/** Waits until the question expires. */
const expiring = (env: Env.Env, question: Approver.Question, expiresAt: number): Effect.Effect<void> =>
  Effect.suspend(() => {
    const left = expiresAt - env.journal.now()
    return left > 0
      ? Effect.andThen(Effect.sleep(Duration.millis(left)), expiring(env, question, expiresAt))
      : Effect.sync(() => expire(env, question))
  })

const expire = (env: Env.Env, question: Approver.Question): void => record(env, question, expired)

type Word = Omit<Approval.Answer, "approvalId">

/** The first answer counts; one that comes too late does not, nor one to a drive that takes up no more answers. */
const record = ({ journal, waitingCalls }: Env.Env, question: Approver.Question, word: Word): void => {
  const { approvalId } = question
  const call = Approval.waiting(journal.state, approvalId)
  if (call === undefined || !waitingCalls.isOpen) return
  const isLate = OpenCall.isExpired(call, journal.now())
  journal.record(Approval.resolved(call, { approvalId, ...(isLate ? expired : word) }))
}

const expired: Word = { approved: false, reason: "nobody answered in time, and the question expired" }
