/**
 * The hooks around a model call: what is sent in the end, and whether its answer may be acted on.
 *
 * Does not own the call (`ModelCall`), nor the turn (`Turn`).
 */
import * as Effect from "effect/Effect"
import * as Frozen from "../../run/Frozen.ts"
import type * as Message from "../../run/Message.ts"
import * as RunError from "../../run/RunError.ts"
import * as RunState from "../../run/RunState.ts"
import * as RunRound from "../../run/state/RunRound.ts"
import * as Transcript from "../../run/Transcript.ts"
import * as Rewrite from "../../run/transcript/Rewrite.ts"
import * as Hooks from "../../services/Hooks.ts"
import * as Model from "../../services/Model.ts"
import * as AppCode from "../env/AppCode.ts"
import * as Digest from "../env/Digest.ts"
import type * as DriveRequest from "../env/DriveRequest.ts"
import type * as Env from "../env/Env.ts"
import * as HookRun from "../env/HookRun.ts"
import * as CurrentModel from "./CurrentModel.ts"
import * as Offer from "./Offer.ts"

/** What is sent in a turn that hooks have seen. */
interface Prompt {
  readonly messages: ReadonlyArray<Message.Message>
  readonly offer: Pick<DriveRequest.Offer, "tools" | "inputDigest">
}

/** Shows the hooks what is to be sent, and returns what they leave of it. */
export const before = Effect.fnUntraced(function*(
  env: Env.Env,
  transcript: Transcript.Transcript
): Effect.fn.Return<Prompt, RunError.RunError> {
  // a hook may take its time, and facts do not wait for it
  yield* env.journal.commit
  const { info } = CurrentModel.of(env)
  const given = Frozen.list(Transcript.messages(transcript, info, env.system))
  const all = Object.freeze(env.tools.map((tool) => tool.name))
  const turn = RunState.nextTurn(env.journal.state)
  const isPaused = Transcript.isPausedFor(transcript, info)
  let messages = given
  let tools: ReadonlyArray<string> = all
  for (const hook of env.hooks.at.beforeModelCall) {
    const call: Hooks.ModelCall = { ...AppCode.inTurn(env, turn), model: Model.refOf(info), messages, tools }
    const change = yield* asked(env, {
      hook,
      on: "beforeModelCall",
      subject: `${turn}`,
      ask: () => hook.beforeModelCall(call),
      gives: Hooks.ModelChange
    })
    if (change?.messages !== undefined) messages = Frozen.deep(Rewrite.legal(change.messages, messages, isPaused))
    if (change?.tools !== undefined) tools = Object.freeze(tools.filter((tool) => change.tools!.includes(tool)))
  }
  const isCut = tools.length < all.length
  const offered = isCut ? env.tools.filter((tool) => tools.includes(tool.name)) : env.tools
  const inputDigest = isCut || messages !== given
    ? yield* digest(messages, { ...env, tools: offered })
    : env.inputDigest
  return { messages, offer: { tools: offered, inputDigest } }
})

const digest = (messages: ReadonlyArray<Message.Message>, offer: Pick<Env.Env, "toolChoice" | "tools">) => {
  const choice = Offer.choiceOf(offer)
  return Digest.sha256(
    Offer.digested(messages, offer.tools, choice === "auto" || choice === "none" ? undefined : choice)
  )
}

/** Shows a stored answer to the hooks, unless one of its calls has begun: then the hooks have already let it pass. */
export const after = function*(env: Env.Env): Effect.fn.Return<void, RunError.RunError> {
  const { answer, openCalls, turn } = env.journal.state
  if (answer !== undefined && !RunRound.hasBegun(openCalls, answer)) yield* show(env, answer, turn)
}

const show = Effect.fnUntraced(function*(
  env: Env.Env,
  { finishReason, message, usage }: NonNullable<RunState.RunState["answer"]>,
  turn: number
): Effect.fn.Return<void, RunError.RunError> {
  yield* env.journal.commit
  // one object for all hooks: none of them can change what the next one sees
  const given: Hooks.ModelAnswer = Object.freeze({ ...AppCode.inTurn(env, turn), message, finishReason, usage })
  for (const hook of env.hooks.at.afterModelCall) {
    yield* asked(env, {
      hook,
      on: "afterModelCall",
      subject: `${turn}`,
      ask: () => hook.afterModelCall(given),
      gives: undefined
    })
  }
})

/** What a hook answered; a guard without a usable answer ends the run. What it refused with is the error's `cause`. */
const asked = Effect.fnUntraced(function*<P extends Hooks.Point, A extends object>(
  env: Env.Env,
  question: HookRun.Asked<P, A>
): Effect.fn.Return<A | undefined, RunError.RunError> {
  const given = yield* HookRun.run(env, question)
  if (given._tag === "Given") return given.value
  env.journal.move("hookBlocked")
  return yield* blocked(question.hook.name, question.on, given)
})

const blocked = (hook: string, on: Hooks.Point, { isTyped = false, thrown, why }: HookRun.Broken) => {
  const how = isTyped ? "refused" : why
  const message = `the hook "${hook}" ${how} (${on}), so the run cannot go on`
  const error = new RunError.NonRetryableError({ _tag: "HookBlocked", hook, message })
  // not enumerable, as of any `Error`: what is written as JSON does not have it
  return isTyped ? Object.defineProperty(error, "cause", { value: thrown }) : error
}
