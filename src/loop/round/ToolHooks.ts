/**
 * The hooks around a tool call: the arguments it goes on with, or its outcome without running; and what may be stored of an outcome.
 *
 * Does not own the other steps of a call (`CallStep`).
 */
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import * as Canonical from "../../run/Canonical.ts"
import * as Frozen from "../../run/Frozen.ts"
import * as Bounds from "../../run/log/Bounds.ts"
import * as OpenCall from "../../run/state/OpenCall.ts"
import * as ToolOutcome from "../../run/ToolOutcome.ts"
import * as Hooks from "../../services/Hooks.ts"
import * as AppCode from "../env/AppCode.ts"
import type * as Env from "../env/Env.ts"
import * as HookRun from "../env/HookRun.ts"
import * as TooLarge from "../log/TooLarge.ts"
import * as Outcomes from "./Outcomes.ts"

type Call = OpenCall.OpenCall
type Outcome = ToolOutcome.ToolOutcome

/** A call with the arguments it goes on with, or what it is settled as, and by which hook. */
type Prepared =
  | { readonly _tag: "Go"; readonly call: Call }
  | { readonly _tag: "Settle"; readonly outcome: Outcome; readonly hook: string }

/** A call that a person has refused, or given the result of, is no longer a hook's to decide. */
export const isAsked = ({ hooks }: Env.Env, call: Call): boolean =>
  hooks.at.beforeToolCall.length > 0 && call.phase !== "started" && call.decision?.approved !== false &&
  !OpenCall.isAnswered(call)

/** Asks the hooks about a call that has not started. */
export const before = Effect.fnUntraced(function*(env: Env.Env, call: Call): Effect.fn.Return<Prepared> {
  let params = OpenCall.final(call)
  for (const hook of env.hooks.at.beforeToolCall) {
    const seen = { ...describe(env, call), params }
    const given = yield* HookRun.run(env, {
      hook,
      on: "beforeToolCall",
      subject: call.callId,
      ask: () => hook.beforeToolCall(seen),
      gives: Hooks.ToolDecision
    })
    const settle = (outcome: Outcome): Prepared => ({ _tag: "Settle", outcome, hook: hook.name })
    const refuse = (why: string) =>
      settle({ _tag: "Denied", reason: `the hook "${hook.name}" ${why}, and without its word the call does not run` })
    if (given._tag === "Broken") return refuse(given.why)
    switch (given.value?._tag) {
      case undefined:
        break
      case "Change":
        if (TooLarge.bytesOf(given.value.params) !== undefined) return refuse("gave arguments that are too large")
        params = Frozen.copy(given.value.params)
        break
      case "Deny":
        return settle({ _tag: "Denied", reason: Bounds.message(given.value.reason) })
      case "Answer": {
        const answer: Outcome = { ...given.value, _tag: "Succeeded" }
        return settle(yield* after(env, { ...call, params }, toldOf(answer), "answered"))
      }
    }
  }
  return { _tag: "Go", call: withParams(call, params) }
})

/** A person's answer is about the arguments they were asked about, or gave; others need a new question. */
const withParams = (call: Call, params: Schema.Json): Call => {
  const before = OpenCall.final(call)
  if (params === before || Canonical.canonical(params) === Canonical.canonical(before)) return call
  return call.approvalId === undefined ? { ...call, params } : OpenCall.anew(call, params)
}

type How = "ran" | "answered"

/** What is told of a call that does not run here. */
export const toldOf = (outcome: Outcome): HookRun.Told => ({ outcome, duration: 0 })

/** What the hooks leave of an outcome, which is held from the moment of this call until it is recorded. */
export const after = (env: Env.Env, call: Call, told: HookRun.Told, how: How): Effect.Effect<Outcome> => {
  if (env.hooks.at.afterToolCall.length === 0) return Effect.succeed(told.outcome)
  hold(env, call, told, told.outcome, how, 0)
  return leave(env, call, told, how)
}

const leave = Effect.fnUntraced(function*(
  env: Env.Env,
  call: Call,
  told: HookRun.Told,
  how: How
): Effect.fn.Return<Outcome> {
  const { duration, outcome } = told
  // frozen: what a hook does not return, it has not changed
  let left = Frozen.deep(outcome)
  for (const [at, hook] of env.hooks.at.afterToolCall.entries()) {
    const given = yield* look(env, hook, call, { outcome: left, duration, isPreliminary: false })
    if (given._tag === "Broken") left = withheld(left, how, `the hook "${hook.name}" ${given.why}`)
    else if (given.value !== undefined) left = Frozen.copy(ToolOutcome.changed(left, given.value.outcome))
    hold(env, call, told, left, how, at + 1)
  }
  return left
})

const hold = (env: Env.Env, call: Call, told: HookRun.Told, outcome: Outcome, how: How, next: number): void => {
  const held = env.hooks.held ??= new Map()
  held.set(call.callId, { call, told, ...unheard(env, outcome, how, next) })
}

/** What is stored of an outcome where the hooks from the place `next` on are no longer heard: an observer withholds nothing, a guard may. */
const unheard = (env: Env.Env, outcome: Outcome, how: How, next = 0): Pick<HookRun.Held, "left" | "isKnown"> => {
  const guard = env.hooks.at.afterToolCall.find(({ kind }, at) => at >= next && kind !== "observer")
  return guard === undefined
    ? { left: outcome, isKnown: true }
    : { left: withheld(outcome, how, `the run ended before the hook "${guard.name}" was done with it`), isKnown: false }
}

/** The outcome of a call whose result a person gave; known at once where no hook is asked. */
export const answered = (env: Env.Env, call: Call): Effect.Effect<Outcome> =>
  after(env, call, toldOf(Outcomes.answered(call)), "answered")

/** The same where hooks are no longer heard; nothing where a guard has not begun to look at it. */
export const answeredUnheard = (env: Env.Env, call: Call): Outcome | undefined => {
  const held = env.hooks.held?.get(call.callId)
  // what is held of a call that nobody had answered yet is what a hook gave
  if (held !== undefined && OpenCall.isAnswered(held.call)) return held.left
  const { isKnown, left } = unheard(env, Outcomes.answered(call), "answered")
  return isKnown ? left : undefined
}

/** An outcome that says only what became of the call. */
const withheld = (outcome: Outcome, how: How, why: string): Outcome => {
  const words = `is withheld: ${why}.`
  if (outcome._tag === "InvalidArguments") return { ...outcome, message: `what is wrong with them ${words}` }
  if (!("result" in outcome) && !("message" in outcome)) return outcome
  const became = how === "ran" ? "The call ran, and its result" : "The call did not run, and what answers it"
  return { _tag: "Failed", result: `${became} ${words}` }
}

/** What may be shown of a preliminary result; nothing where a guard leaves none. */
export const preliminary = Effect.fnUntraced(function*(
  env: Env.Env,
  call: Call,
  value: Schema.Json,
  duration: number
): Effect.fn.Return<Schema.Json | undefined> {
  let left = Frozen.copy(value)
  for (const hook of env.hooks.at.afterToolCall) {
    if (hook.kind === "observer") continue
    const outcome: Outcome = { _tag: "Succeeded", result: left }
    const given = yield* look(env, hook, call, { outcome, duration, isPreliminary: true })
    if (given._tag === "Broken") return undefined
    if (given.value === undefined) continue
    if (given.value.outcome._tag !== "Succeeded") return undefined
    left = Frozen.copy(given.value.outcome.result)
  }
  return left
})

const look = (
  env: Env.Env,
  hook: HookRun.Hooking["at"]["afterToolCall"][number],
  call: Call,
  ended: Pick<Hooks.ToolEnded, "outcome" | "duration" | "isPreliminary">
) => {
  const seen = { ...describe(env, call), ...ended }
  return HookRun.run(env, {
    hook,
    on: "afterToolCall",
    subject: call.callId,
    ask: () => hook.afterToolCall(seen),
    gives: Hooks.ToolChange
  })
}

const describe = (env: Env.Env, call: Call): Hooks.ToolCall => {
  const { callId, tool, turn } = call
  return { ...AppCode.ofCall(env, callId), turn, tool, params: OpenCall.final(call) }
}
