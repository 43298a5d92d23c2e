/**
 * From an agent's parts and a run's input to what its drive works with: which tools are offered, what the system
 * message says, how a final answer is checked.
 *
 * Does not own which values are allowed (`InputCheck`, `RunPolicy`), nor what a turn is offered of it (`Offer`).
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as DoomLoop from "../../run/DoomLoop.ts"
import * as Bounds from "../../run/log/Bounds.ts"
import type * as RunInput from "../../run/RunInput.ts"
import * as RunPolicy from "../../run/RunPolicy.ts"
import type * as Model from "../../services/Model.ts"
import type * as ToolExecutor from "../../services/ToolExecutor.ts"
import type * as Rules from "../env/Rules.ts"
import * as Digest from "../log/Digest.ts"
import * as Offer from "../turn/Offer.ts"

/** What an agent is made of, the same for all its runs. */
export interface Definition {
  readonly name: string
  readonly instructions: string
  readonly handlers: ToolExecutor.Handlers
  /** what it says itself; the References `Timeouts` and `Limits`, and then the defaults, say the rest */
  readonly timeouts: Partial<RunPolicy.Timeouts>
  readonly limits: RunPolicy.Limits
  readonly output: Output | undefined
  readonly toolPolicy: RunPolicy.ToolPolicy
  /** `undefined`: loops are not looked for */
  readonly doomLoop: DoomLoop.Settings | undefined
  readonly rules: Rules.Rules
}

/** What the agent brings to a run, made for its input. */
export interface Brief extends Offer.Offer {
  readonly agent: string
  /** SHA-256 of the instructions, hex */
  readonly instructions: string
  /** the text of the system message with other instructions */
  readonly systemOf: (instructions: string) => string
  readonly rules: Rules.Rules
  readonly handlers: ToolExecutor.Handlers
  readonly timeouts: RunPolicy.Timeouts
  readonly policy: RunPolicy.ToolPolicy
  readonly doomLoop: DoomLoop.Settings | undefined
  /** what the model is told of the final answer besides words */
  readonly answer: Model.Output | undefined
  /** What is wrong with a final answer, in words for the model; `undefined` when nothing is. */
  readonly checkOutput: (text: string) => string | undefined
  /** The typed answer of a final text that `checkOutput` accepts. */
  readonly output: (text: string) => unknown
}

/** The schema of an agent's final answers. */
export interface Output {
  readonly codec: Model.Output["schema"]
  /** its JSON Schema, as text */
  readonly schema: string
  readonly decode: (text: string) => unknown
}

export const makeOutput = <A>(schema: Schema.ConstraintCodec<A, unknown, never, never>): Output => {
  const codec = Schema.toCodecJson(schema)
  const { definitions, schema: root } = Schema.toJsonSchemaDocument(codec)
  const decode = Schema.decodeUnknownSync(Schema.fromJsonString(codec))
  return {
    codec,
    schema: JSON.stringify(Object.keys(definitions).length === 0 ? root : { ...root, $defs: definitions }),
    decode: (text) => decode(unfenced(text))
  }
}

/** What an input says of what an agent brings to a run. */
type Asked = Pick<RunInput.Effective, "instructions" | "allowedTools" | "toolOrder" | "toolPolicy">

/** Models like to put JSON into a Markdown fence. */
const unfenced = (text: string): string => /^\s*```(?:json)?\s*\n([\s\S]*?)\n\s*```\s*$/.exec(text)?.[1] ?? text

/** Begins what the first run of an agent waits for otherwise. */
export const begin = (definition: Definition): void => void makeParts(definition, definition)

export const make = (
  definition: Definition,
  input: RunInput.Effective,
  timeouts: RunPolicy.Timeouts
): Effect.Effect<Brief> => {
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
const uncut = new WeakMap<Definition, Brief>()

/** Of a run that is in the log: tools and policy are the run's, as far as the agent still allows them. */
export const ofLog = (
  definition: Definition,
  input: RunInput.Effective,
  timeouts: RunPolicy.Timeouts
): Effect.Effect<Brief> =>
  make(definition, { ...input, toolPolicy: RunPolicy.narrow(definition.toolPolicy, input.toolPolicy) }, timeouts)

const isUncut = (
  { toolPolicy: own }: Definition,
  { allowedTools, instructions, toolOrder, toolPolicy }: RunInput.Effective
) =>
  instructions === undefined && allowedTools === undefined && toolOrder === undefined &&
  (toolPolicy.enabled === false) === (own.enabled === false) && toolPolicy.allowList === own.allowList

/** What is made on other threads is begun when this is called. */
const makeParts = (
  definition: Definition,
  input: Asked
): Effect.Effect<Omit<Brief, "timeouts" | "policy">> => {
  const { doomLoop, handlers, name, output, rules } = definition
  const instructions = input.instructions ?? definition.instructions
  const systemOf = (instructions: string) => systemText(instructions, output)
  // both at once
  const offer = Offer.make(systemOf(instructions), offered(handlers, input))
  const digest = Digest.sha256OfFixed(instructions)
  return Effect.flatMapEager(offer, (offer) =>
    Effect.mapEager(digest, (digest) => ({
      ...offer,
      agent: name,
      instructions: digest,
      systemOf,
      rules,
      handlers,
      doomLoop,
      answer: output === undefined ? undefined : { name, schema: output.codec },
      checkOutput: (text) => output === undefined ? undefined : problem(output, text),
      output: (text) => output === undefined ? text : output.decode(text)
    })))
}

const systemText = (instructions: string, output: Output | undefined): string => {
  if (output === undefined) return instructions.trim() === "" ? "" : instructions
  const asked = `Give your final answer as JSON that fits this schema, and nothing else:\n${output.schema}`
  return instructions.trim() === "" ? asked : `${instructions}\n\n${asked}`
}

const problem = (output: Output, text: string): string | undefined => {
  try {
    output.decode(text)
    return undefined
  } catch (error) {
    return error instanceof Error ? Bounds.message(error.message) : "it could not be read"
  }
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
