/**
 * What a handler's exit means: the outcome of its call, with as much of it as a model will read. The handler is foreign code.
 *
 * Does not own how a handler is called (`HandlerCall`), nor what a time limit makes of a call (`ToolExecutorToolkit`).
 */
import * as AiError from "effect/ai/AiError"
import type * as Tool from "effect/ai/Tool"
import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import * as Foreign from "../../run/Foreign.ts"
import * as Bounds from "../../run/log/Bounds.ts"
import type * as ToolOutcome from "../../run/ToolOutcome.ts"
import * as Pausing from "../../services/Pausing.ts"
import type * as ToolExecutor from "../../services/ToolExecutor.ts"
import * as Parameters from "../provider/Parameters.ts"
import * as JsonForm from "./JsonForm.ts"
import * as NoEffect from "./NoEffect.ts"
import * as PlainJson from "./PlainJson.ts"
import * as ToolCodecs from "./ToolCodecs.ts"
import * as ToolContent from "./ToolContent.ts"
import { truncate } from "./Truncation.ts"

/** How a handler ends; one reached through `handle` may do so without a result. */
export type Exited = Exit.Exit<ToolCodecs.Result | undefined, unknown>

/** The pause of a call that waits for other runs, where its handler says so. */
export const paused = (exit: Exited): ToolExecutor.Paused | undefined => {
  const waitsFor = Exit.isFailure(exit) ? Pausing.waitsFor(exit.cause) : undefined
  return waitsFor === undefined ? undefined : { waitsFor }
}

/** Whether the handler broke: a typed failure, and a pause, are how a handler ends. */
export const isContained = (exit: Exited): exit is Exit.Failure<never, unknown> =>
  Exit.isFailure(exit) && Option.isNone(Cause.findErrorOption(exit.cause)) && Pausing.waitsFor(exit.cause) === undefined

/** Settles a call of `tool` with `params`; what is longer than `limit` characters is cut. */
export const of = (tool: Tool.Any, params: Schema.Json, exit: Exited, limit: number): ToolExecutor.Settlement => {
  if (Exit.isFailure(exit)) return cut(explained(outcomeOfCause(tool, exit.cause), params), limit)
  const result = exit.value
  if (result === undefined) return { outcome: { _tag: "Failed", result: "The tool ended without a result." } }
  if (result.isFailure && AiError.isAiError(result.result)) return cut(outcomeOfAiError(tool, result.result), limit)
  const schema = result.isFailure ? tool.failureSchema : tool.successSchema
  const encoded = JsonForm.of(schema as Schema.Top, result.encodedResult)
  if (result.modelOutput !== undefined) return ToolContent.settled(encoded, result.modelOutput, limit)
  if (encoded._tag === "NotJson") return { outcome: { _tag: "NotEncodable", message: encoded.message } }
  return settled(result.isFailure ? "Failed" : "Succeeded", encoded, limit)
}

/** The outcome with as much of its result as a model will read. */
const settled = (_tag: "Failed" | "Succeeded", json: PlainJson.Json, limit: number): ToolExecutor.Settlement => {
  const { originalSize, text } = truncate(json.text, limit)
  return originalSize === undefined
    ? { outcome: { _tag, result: PlainJson.value(json) } }
    : { outcome: { _tag, result: text }, originalSize }
}

/** Cuts an outcome that is not a handler's result to what a model will read. */
const cut = (outcome: ToolOutcome.ToolOutcome, limit: number): ToolExecutor.Settlement => {
  if ("message" in outcome) return { outcome: { ...outcome, message: truncate(outcome.message, limit).text } }
  if (!("result" in outcome)) return { outcome }
  const json = PlainJson.of(outcome.result)
  return json._tag === "NotJson" || (outcome._tag !== "Failed" && outcome._tag !== "Succeeded")
    ? { outcome }
    : settled(outcome._tag, json, limit)
}

const outcomeOfCause = (tool: Tool.Any, cause: Cause.Cause<unknown>): ToolOutcome.ToolOutcome => {
  const error = Cause.findErrorOption(cause)
  if (Option.isSome(error)) {
    if (AiError.isAiError(error.value)) return outcomeOfAiError(tool, error.value)
    return { _tag: "Failed", result: encodeFailure(tool, error.value) }
  }
  if (Cause.hasInterruptsOnly(cause)) return { _tag: "Failed", result: "The tool interrupted itself." }
  const defect = Cause.squash(cause)
  const why = describe(NoEffect.isSaidBy(defect) ? NoEffect.of(tool.name) : defect)
  return { _tag: "Failed", result: `The tool failed unexpectedly: ${why}` }
}

/** Arguments that are still a text did not parse, or may not be read; a schema would only say that they are not an object. */
const explained = (outcome: ToolOutcome.ToolOutcome, params: Schema.Json): ToolOutcome.ToolOutcome => {
  if (outcome._tag !== "InvalidArguments" || typeof params !== "string") return outcome
  if (params === Bounds.leftOut) {
    return { ...outcome, message: `they are nested in more than ${Bounds.deepest} levels; send them flatter` }
  }
  try {
    JSON.parse(params)
    return { ...outcome, message: Parameters.refused(params) ?? "they are a text and not a JSON object" }
  } catch (error) {
    return { ...outcome, message: `they are not JSON: ${describe(error)}` }
  }
}

/** What the call itself was refused for. An error from a handler's own AI calls is the handler's failure, whatever it is. */
const outcomeOfAiError = (tool: Tool.Any, error: AiError.AiError): ToolOutcome.ToolOutcome => {
  const { module, reason } = error
  const isOfCall = module === "Toolkit" && "toolName" in reason && reason.toolName === tool.name
  if (!isOfCall) return { _tag: "Failed", result: error.message }
  switch (reason._tag) {
    case "ToolParameterValidationError":
      return { _tag: "InvalidArguments", message: reason.description }
    case "ToolNotFoundError":
      return { _tag: "UnknownTool", available: reason.availableTools }
    case "ToolResultEncodingError":
    case "InvalidToolResultError":
      return { _tag: "NotEncodable", message: reason.description }
    default:
      return { _tag: "Failed", result: error.message }
  }
}

/** A typed failure in the JSON of its schema; a sentence when it does not fit, cannot be encoded at once, or is not JSON. */
const encodeFailure = (tool: Tool.Any, error: unknown): Schema.Json => {
  const encoded = ToolCodecs.failureOf(tool, error)
  if (Option.isNone(encoded)) return `The tool failed: ${describe(error, "its failure does not fit its schema")}`
  const json = JsonForm.of(tool.failureSchema as Schema.Top, encoded.value)
  return json._tag === "Json"
    ? PlainJson.value(json)
    : `The tool failed: ${describe(error, `its failure cannot be written: ${json.message}`)}`
}

/** An error's own words; without any its name, and what is said `otherwise`. */
export const describe = (error: unknown, otherwise?: string): string =>
  Foreign.look(() => wordsOf(error, otherwise), "its error cannot be read")

const wordsOf = (error: unknown, otherwise: string | undefined): string => {
  if (typeof error === "string") return error
  if (error instanceof Error && typeof error.message === "string") {
    return error.message || (otherwise === undefined ? error.name : `${error.name}: ${otherwise}`)
  }
  return otherwise ?? "no reason given"
}
