/**
 * What the application knows of a call that a dead drive started. Whatever its reconciler does, the call can be settled with it.
 *
 * Does not own which calls it is asked about, nor what follows (`Judging`, `Unsettled`).
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as InputCheck from "../../run/InputCheck.ts"
import * as RunPolicy from "../../run/RunPolicy.ts"
import type * as OpenCall from "../../run/state/OpenCall.ts"
import type * as ToolOutcome from "../../run/ToolOutcome.ts"
import * as Reconciler from "../../services/Reconciler.ts"
import * as Warning from "../../services/Warning.ts"
import * as AppCode from "../env/AppCode.ts"
import type * as Env from "../env/Env.ts"
import * as ToolHooks from "./ToolHooks.ts"

/** The call's outcome, as far as it is known; `undefined` where it took no effect. */
type Known = ToolOutcome.ToolOutcome | undefined

/** Asks what became of a call; if anything goes wrong in asking, nothing is known. */
export const ask = (env: Env.Env, call: OpenCall.OpenCall): Effect.Effect<Known> => {
  const { callId, params, startedAt = 0, tool } = call
  const limit = RunPolicy.callTimeout(env.timeouts, tool)
  const asked = Effect.flatMap(
    Reconciler.Reconciler,
    (reconciler) =>
      AppCode.answered(reconciler.reconcile({ ...AppCode.ofCall(env, callId), tool, params, startedAt }), said)
  )
  return AppCode.within(env, `reconciler of ${tool}`, callId, limit, asked).pipe(
    Effect.flatMap(Option.match({
      onNone: () => warn(call, `took more than ${Duration.toMillis(limit)} ms, the time limit of the tool`),
      onSome: Result.match({
        onFailure: (odd) => warn(call, `answered ${odd} instead of ${answers}`),
        onSuccess: Effect.succeed
      })
    })),
    // a reconciler that interrupts itself is no abort; after an abort nothing is caught
    Effect.catchCause((cause) => warn(call, Warning.howOf(cause))),
    // hooks see a result that a reconciler gives like any other
    Effect.flatMap((known) =>
      known?._tag === "Succeeded"
        ? ToolHooks.after(env, call, ToolHooks.toldOf(known), "ran")
        : Effect.succeed(known)
    )
  )
}

const warn = ({ callId, tool }: OpenCall.OpenCall, how: string) =>
  Effect.as(
    Warning.warn(`the Reconciler ${how} (${tool}, call ${callId}); so it is not known what became of the call`),
    unknown
  )

const unknown: ToolOutcome.ToolOutcome = { _tag: "OutcomeUnknown" }

const answers = "{ _tag: \"Done\" }, { _tag: \"NotDone\" } or { _tag: \"Unknown\" }"

/** Untyped code may answer anything; an answer with a field that nobody reads may mean more than is read of it. */
const said = (answer: Reconciler.Answer | undefined): Result.Result<Known, string> => {
  const read = readOf(answer)
  return Result.isFailure(read) || Result.isSuccess(InputCheck.noOthers("an answer", answer ?? {}, answerNames))
    ? read
    : Result.fail("an object with other fields than _tag and result")
}

const answerNames = { _tag: true, result: true }

const readOf = (answer: Reconciler.Answer | undefined): Result.Result<Known, string> => {
  switch (answer?._tag) {
    case "Done":
      return Result.succeed(Result.match(InputCheck.json("the reconciler's result", answer.result ?? null), {
        onFailure: ({ message }) => ({ _tag: "NotEncodable" as const, message }),
        onSuccess: (result) => ({ _tag: "Succeeded" as const, result })
      }))
    case "NotDone":
      return Result.succeed(undefined)
    case "Unknown":
      return Result.succeed(unknown)
    default:
      return Result.fail(Warning.whatIs(answer))
  }
}
