/**
 * What a turn is offered besides the conversation: instructions, tools, and whether they must be called. The same for every
 * turn of a run, unless the agent prepares its turns.
 *
 * Does not own what a run may be offered (`Brief`), nor what hooks leave of it (`ModelHooks`).
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Foreign from "../../run/Foreign.ts"
import * as Frozen from "../../run/Frozen.ts"
import * as InputCheck from "../../run/InputCheck.ts"
import type * as RunError from "../../run/RunError.ts"
import * as RunState from "../../run/RunState.ts"
import * as Transcript from "../../run/Transcript.ts"
import * as Legality from "../../run/transcript/Legality.ts"
import type * as Model from "../../services/Model.ts"
import type * as PrepareTurn from "../../services/PrepareTurn.ts"
import * as AppCode from "../env/AppCode.ts"
import * as Digest from "../env/Digest.ts"
import type * as DriveRequest from "../env/DriveRequest.ts"
import * as Env from "../env/Env.ts"
import * as Inbox from "../env/Inbox.ts"
import * as Rules from "../env/Rules.ts"

export const make = (
  system: string,
  tools: Model.Tools,
  choice: Model.ToolChoice = "auto"
): Effect.Effect<DriveRequest.Offer> => {
  const toolChoice = tools.length === 0 ? "none" : choice
  const input = digested(system, tools, choice === "auto" ? undefined : choice)
  return Effect.mapEager(Digest.sha256OfFixed(input), (inputDigest) => ({
    system: system === "" ? undefined : Frozen.deep({ role: "system", content: Legality.cleanText(system) }),
    tools: Object.freeze(tools),
    toolChoice,
    inputDigest
  }))
}

/** The tool choice, for the tools that are left: a tool that hooks left out cannot be required. */
export const choiceOf = (offer: Pick<Env.Env, "toolChoice" | "tools">): Model.ToolChoice => {
  const { toolChoice, tools } = offer
  if (tools.length === 0) return "none"
  return typeof toolChoice === "object" && !Env.isOffered(offer, toolChoice.tool) ? "auto" : toolChoice
}

/** What goes into the digest of a turn's input: what is said to the model, and which tools it is offered. */
export const digested = (said: unknown, tools: Model.Tools, choice: Model.ToolChoice | undefined): string => {
  const named = tools.map(({ description, name }) => [name, description])
  return JSON.stringify(choice === undefined ? [said, named] : [said, named, choice])
}

/** What the next turn works with: the run's own environment, or one with another offer. */
export const prepare = function*(
  env: Env.Env,
  prepareTurn: NonNullable<Env.Env["rules"]["prepareTurn"]>
): Effect.fn.Return<Env.Env, RunError.RunError> {
  const turn = view(env)
  const change = yield* Rules.ask(env, "prepareTurn", turn.turn, () => prepareTurn(turn))
  return change === undefined || change === null ? env : yield* changed(env, change)
}

const view = (env: Env.Env): PrepareTurn.Turn => {
  const { journal } = env
  const said = Inbox.due(journal).at(-1)?.messages.at(-1)
  return {
    ...AppCode.inTurn(env, RunState.nextTurn(journal.state)),
    totals: RunState.totalsAt(journal.state, journal.now()),
    last: Frozen.deep(said ?? Transcript.last(journal.transcript))
  }
}

const changed = function*(
  env: Env.Env,
  change: PrepareTurn.Change
): Effect.fn.Return<Env.Env, RunError.RunError> {
  const wrong = Foreign.look(() => problemOf(change), "its answer cannot be read")
  if (wrong !== undefined) return yield* Rules.blocked("prepareTurn", wrong)
  const { instructions, toolChoice, tools: names } = change
  const unknown = names?.find((name) => !Object.hasOwn(env.handlers.tools, name))
  if (unknown !== undefined) {
    const has = Object.keys(env.handlers.tools).join(", ")
    return yield* Rules.blocked("prepareTurn", `"${unknown}" is not a tool of this agent; it has ${has}`)
  }
  const { tools } = names === undefined ? env : cut(env, names)
  const isCallable = typeof toolChoice === "object"
    ? Env.isOffered({ tools }, toolChoice.tool)
    : toolChoice !== "required" || tools.length > 0
  if (!isCallable) {
    const what = typeof toolChoice === "object" ? `the tool "${toolChoice.tool}"` : "a tool"
    return yield* Rules.blocked(
      "prepareTurn",
      `${what} must be called, but is not offered; offer it in tools, or leave toolChoice out`
    )
  }
  const system = instructions === undefined ? env.system?.content ?? "" : env.systemOf(instructions)
  return { ...env, ...(yield* make(system, tools, toolChoice)) }
}

/** Why an answer is not a change, whatever untyped code returns; `undefined` where it is one. */
const problemOf = (change: PrepareTurn.Change): string | undefined => {
  if (typeof change !== "object" || Array.isArray(change) || "then" in change) {
    return "its answer is neither a change of the turn nor an effect of one"
  }
  const others = InputCheck.noOthers("a change of the turn", change, changeNames)
  if (Result.isFailure(others)) return others.failure.message
  const { instructions, toolChoice, tools } = change
  if (tools !== undefined && !Array.isArray(tools)) return "the tools that it returned are not a list of names"
  if (instructions !== undefined && typeof instructions !== "string") {
    return "the instructions that it returned are not a string"
  }
  return toolChoice === undefined || isChoice(toolChoice)
    ? undefined
    : "the toolChoice that it returned must be \"auto\", \"none\", \"required\" or { tool: \"<name>\" }"
}

const changeNames: Record<keyof PrepareTurn.Change, true> = { tools: true, toolChoice: true, instructions: true }

const isChoice = (given: Model.ToolChoice | null): boolean =>
  typeof given === "object" ? typeof given?.tool === "string" : ["auto", "none", "required"].includes(given)

/** The environment of a turn that was offered these tools of the run's. */
export const cut = (env: Env.Env, names: ReadonlyArray<string> | undefined): Env.Env =>
  names === undefined ? env : { ...env, tools: env.tools.filter(({ name }) => names.includes(name)) }
