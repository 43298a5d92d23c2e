/**
 * How an answer to a question gets into the log, through the writer of its session: it is checked first, and refused where the
 * question does not wait for one. Of two answers the first one counts.
 *
 * Does not own whose writer that is (`Deciding`), what comes with a yes (`Given`), nor what follows from an
 * answer (`Question`, `Permission`).
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Approval from "../../run/Approval.ts"
import * as InputCheck from "../../run/InputCheck.ts"
import * as RunError from "../../run/RunError.ts"
import type * as RunInput from "../../run/RunInput.ts"
import type * as RunState from "../../run/RunState.ts"
import * as OpenCall from "../../run/state/OpenCall.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import type * as Env from "../env/Env.ts"
import * as TooLarge from "../log/TooLarge.ts"
import * as Given from "./Given.ts"

type Kit = Given.Kit
type Decision = Approval.Answer & Pick<RunInput.DecideInput, "sessionId">

/** The answer as it is recorded; fails where its question waits for none, or the call's tool does not take what comes with it. */
export const check = Effect.fnUntraced(function*(
  kit: Kit,
  store: SessionStore.Store,
  state: RunState.RunState,
  decision: RunInput.DecideInput
): Effect.fn.Return<Decision, RunError.RunError> {
  yield* Effect.fromResult(InputCheck.decision(decision))
  const { approvalId, approved, by, reason, tool } = decision
  const call = Approval.waiting(state, approvalId)
  if (call === undefined) return yield* refuse(store, decision)
  if (tool !== undefined && tool !== call.tool) {
    return yield* RunError.invalidInput(
      "tool",
      `question "${approvalId}" is about a call of "${call.tool}", not of "${tool}"; ` +
        "give the id of the right question, or leave tool out"
    )
  }
  const given = approved ? yield* yes(kit, call, decision) : yield* no(decision)
  const tooLarge = TooLarge.of("the answer", [by, reason, given])
  if (tooLarge !== undefined) return yield* tooLarge
  return { ...decision, originalSize: undefined, ...given }
})

const yes = (kit: Kit, call: OpenCall.OpenCall, decision: RunInput.DecideInput) => {
  const { executor, handlers } = kit
  const needsResult = call.needsResult === true || executor.needsResult(handlers, call.tool)
  return needsResult && decision.result === undefined ? missing(call) : Given.of(kit, call.tool, decision)
}

const no = ({ params, result }: RunInput.DecideInput): Effect.Effect<Given.Given, RunError.NonRetryableError> => {
  if (params !== undefined) {
    return RunError.invalidInput(
      "params",
      "params replace the arguments of the call, and need approved: true; leave them out to say no"
    )
  }
  return result === undefined
    ? Given.nothing
    : RunError.invalidInput(
      "result",
      "result settles the call without running it, and needs approved: true; leave it out to say no"
    )
}

const missing = ({ tool }: OpenCall.OpenCall) =>
  RunError.invalidInput(
    "result",
    `result is missing: "${tool}" is answered by a person, so a yes is not enough; give its result`
  )

/** Says why a question that does not wait takes no answer. */
const refuse = Effect.fnUntraced(function*(
  store: SessionStore.Store,
  { approvalId, sessionId }: RunInput.DecideInput
): Effect.fn.Return<never, RunError.RunError> {
  return yield* Approval.refusal(sessionId, approvalId, yield* pastOf(store, sessionId, approvalId))
})

/** What the log says of a question; reads only its run. */
const pastOf = Effect.fnUntraced(function*(
  store: SessionStore.Store,
  sessionId: string,
  approvalId: string
): Effect.fn.Return<Approval.Past, SessionStore.StoreError> {
  const runId = approvalId.slice(0, Math.max(0, approvalId.lastIndexOf("/")))
  const from = yield* store.lastOf(sessionId, "RunStarted", runId)
  if (from === undefined) return {}
  return yield* store.read(sessionId, { from }).pipe(
    Stream.takeWhile((event) => event.seq === from || event._tag !== "RunStarted"),
    Stream.runFold((): Approval.Past => ({}), Approval.evolve(approvalId))
  )
})

/**
 * Records a checked answer through the writer of `env`; durable when it returns. `false`, with nothing recorded, where that drive takes
 * up no more answers. Where the store does not take the answer, its call is not told, and `onFailure` is run with the error, except
 * `EventTooLarge`, which leaves the question open.
 */
export const record = (
  { journal, waitingCalls }: Pick<Env.Env, "journal" | "waitingCalls">,
  store: SessionStore.Store,
  decision: Decision,
  onFailure: OnFailure = () => Effect.void
): Effect.Effect<boolean, RunError.RunError> =>
  Effect.uninterruptible(Effect.suspend(() => {
    const { approvalId, sessionId } = decision
    const call = Approval.waiting(journal.state, approvalId)
    // what became of the question must be in the log to be read there
    if (call === undefined) return Effect.andThen(journal.commit, refuse(store, decision))
    if (OpenCall.isExpired(call, journal.now())) return Effect.fail(Approval.notOpen(sessionId, approvalId, "expired"))
    if (!waitingCalls.isOpen) return Effect.succeed(false)
    journal.record(Approval.resolved(call, decision))
    // an answer that is too large is left out, and the question is open as before
    const failed = (error: SessionStore.StoreError) =>
      error.reason._tag === "EventTooLarge" ? Effect.void : onFailure(error)
    return Effect.map(Effect.tapError(journal.commit, failed), () => {
      waitingCalls.tell(call.callId)
      return true
    })
  }))

type OnFailure = (error: SessionStore.StoreError) => Effect.Effect<void>

/**
 * Answers a question of a live drive, also for another process, which knows the answer by `id`; when the store fails, so does the run:
 * `onFailure` sees to that.
 */
export const live = Effect.fnUntraced(function*(
  env: Env.Env,
  store: SessionStore.Store,
  decision: RunInput.DecideInput,
  id: string | undefined,
  onFailure: OnFailure
): Effect.fn.Return<boolean, RunError.RunError> {
  const { journal } = env
  if (Approval.waiting(journal.state, decision.approvalId) === undefined) yield* journal.commit
  const checked = yield* check(env, store, journal.state, decision)
  return yield* record(env, store, { ...checked, id }, onFailure)
})
