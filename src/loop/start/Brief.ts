/**
 * Makes what a drive works with from the agent's parts and the run's input: above all which tools are offered, and with which
 * instructions. Runs that offer everything the agent has share one brief.
 *
 * Does not own which values are allowed (`InputCheck`, `RunPolicy`), what a turn is offered of it (`Offer`), nor final answers
 * (`FinalAnswer`).
 */
import * as Effect from "effect/Effect"
import type * as RunInput from "../../run/RunInput.ts"
import * as RunPolicy from "../../run/RunPolicy.ts"
import type * as Model from "../../services/Model.ts"
import type * as ToolExecutor from "../../services/ToolExecutor.ts"
import type * as Definition from "../env/Definition.ts"
import * as Digest from "../env/Digest.ts"
import type * as DriveRequest from "../env/DriveRequest.ts"
import * as Offer from "../turn/Offer.ts"
import * as FinalAnswer from "./FinalAnswer.ts"

/** Begins early what the first run of an agent would otherwise wait for. */
export const warmUp = (definition: Definition.Definition): void => void makeParts(definition, definition)

export const make = (
  definition: Definition.Definition,
  input: RunInput.Effective,
  timeouts: RunPolicy.Timeouts
): Effect.Effect<DriveRequest.Brief> => {
  const policy = input.toolPolicy
  if (!isUncut(definition, input)) {
    return Effect.mapEager(makeParts(definition, input), (parts) => ({ ...parts, timeouts, policy }))
  }
  const known = uncut.get(definition)
  if (known?.timeouts === timeouts && known.policy === policy) return Effect.succeed(known)
  const parts = known === undefined ? makeParts(definition, input) : Effect.succeed(known)
  return Effect.mapEager(parts, (parts) => {
    const brief = { ...parts, timeouts, policy }
    uncut.set(definition, brief)
    return brief
  })
}

/** By agent, the last brief that offers everything the agent has. */
const uncut = new WeakMap<Definition.Definition, DriveRequest.Brief>()

/** For a run that is in the log: its own tools and policy, as far as the agent still allows them. */
export const ofLog = (
  definition: Definition.Definition,
  input: RunInput.Effective,
  timeouts: RunPolicy.Timeouts
): Effect.Effect<DriveRequest.Brief> =>
  make(definition, { ...input, toolPolicy: RunPolicy.narrow(definition.toolPolicy, input.toolPolicy) }, timeouts)

const isUncut = (
  { toolPolicy: own }: Definition.Definition,
  { allowedTools, instructions, toolOrder, toolPolicy }: RunInput.Effective
) =>
  instructions === undefined && allowedTools === undefined && toolOrder === undefined &&
  (toolPolicy.enabled === false) === (own.enabled === false) && toolPolicy.allowList === own.allowList

/** What an input says about what the agent brings to the run. */
type Asked = Pick<RunInput.Effective, "instructions" | "allowedTools" | "toolOrder" | "toolPolicy">

/** Work on other threads begins when this is called, before its effect runs. */
const makeParts = (
  definition: Definition.Definition,
  input: Asked
): Effect.Effect<Omit<DriveRequest.Brief, "timeouts" | "policy">> => {
  const { doomLoop, handlers, name, output, rules } = definition
  const instructions = input.instructions ?? definition.instructions
  const systemOf = (instructions: string) => FinalAnswer.systemText(instructions, output)
  // both at once
  const offer = Offer.make(systemOf(instructions), offered(handlers, input))
  const digest = Digest.sha256OfFixed(instructions)
  return Effect.flatMapEager(offer, (offer) =>
    Effect.mapEager(digest, (digest) => ({
      ...offer,
      agent: name,
      instructionsDigest: digest,
      systemOf,
      rules,
      handlers,
      doomLoop,
      output: output === undefined ? undefined : { name, schema: output.codec },
      checkOutput: (text) => output === undefined ? undefined : FinalAnswer.problem(output, text),
      decodeOutput: (text) => output === undefined ? text : output.decode(text)
    })))
}

/** The agent's tools, cut by the allow list and the run's `allowedTools`; those named in `toolOrder` come first. */
const offered = (handlers: ToolExecutor.Handlers, input: Asked): Model.Tools => {
  const { allowedTools, toolOrder = [], toolPolicy } = input
  if (toolPolicy.enabled === false) return []
  const isAllowed = (name: string) =>
    (toolPolicy.allowList?.includes(name) ?? true) && (allowedTools?.includes(name) ?? true)
  const rank = (name: string) => {
    const at = toolOrder.indexOf(name)
    return at < 0 ? toolOrder.length : at
  }
  return Object.values(handlers.tools)
    .filter((tool) => isAllowed(tool.name))
    .sort((a, b) => rank(a.name) - rank(b.name))
}
