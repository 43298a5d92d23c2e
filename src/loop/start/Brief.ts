/**
 * From an agent's parts and a run's input to what its drive works with: above all which tools are offered, and by which
 * instructions. Runs of an agent that offer all that it has share one.
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

/** Begins by now what the first run of an agent waits for otherwise. */
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

/** The last one of an agent's runs that offer all that it has. */
const uncut = new WeakMap<Definition.Definition, DriveRequest.Brief>()

/** Of a run that is in the log: tools and policy are the run's, as far as the agent still allows them. */
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

/** What an input says of what an agent brings to a run. */
type Asked = Pick<RunInput.Effective, "instructions" | "allowedTools" | "toolOrder" | "toolPolicy">

/** What is made on other threads is begun when this is called. */
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

/** The agent's tools, cut by the allow list and the run's, those named in `toolOrder` first. */
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
