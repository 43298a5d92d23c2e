/**
 * From a caller's input to what the log keeps: every default is filled in, every bad argument is named. Pure.
 *
 * Does not own the checks of single arguments: messages (`MessageCheck`), limits and policies (`PolicyCheck`).
 */
import * as Duration from "effect/Duration"
import * as Result from "effect/Result"
import { type Checked, duration, json, names, noOthers, notGiven, refuse, text } from "./input/Checked.ts"
import { historyMessages, userMessages } from "./input/MessageCheck.ts"
import { limits, policy } from "./input/PolicyCheck.ts"
import * as RunError from "./RunError.ts"
import type * as RunInput from "./RunInput.ts"
import * as RunPolicy from "./RunPolicy.ts"

export {
  callable,
  type Checked,
  decoded,
  decodedWhole,
  duration,
  fields,
  flag,
  json,
  list,
  names,
  noOthers,
  number,
  oneOf,
  options,
  refuse,
  taken,
  text,
  unnamed
} from "./input/Checked.ts"
export { listed } from "./input/ListCheck.ts"
export { said } from "./input/MessageCheck.ts"
export { doomLoop, limits, policy, resultLimit, timeouts } from "./input/PolicyCheck.ts"

/** What the agent brings to a run's input, as `RunPolicy` merges and narrows it. */
export interface Defaults {
  readonly limits: RunPolicy.Limits
  readonly toolPolicy: RunPolicy.ToolPolicy
  /** the names of its tools */
  readonly tools: ReadonlyArray<string>
}

/** What a caller asks for. */
export interface Asked {
  readonly effective: RunInput.Effective
  readonly given: RunInput.Given
}

/** What a caller asks for. Fails with the first of several bad arguments. */
export const asked = (input: RunInput.RunInput, defaults: Defaults): Checked<Asked> => {
  if (typeof input !== "object" || input === null) {
    return refuse("input", "the input of a run must be an object, such as { input: \"And in Bergen?\" }")
  }
  const others = noOthers("the input of a run", input, inputNames)
  if (Result.isFailure(others)) return Result.fail(others.failure)
  if (typeof (input.createSession ?? true) !== "boolean") {
    return refuse("createSession", "createSession must be true or false")
  }
  if (isBare(input)) {
    const { limits, toolPolicy } = defaults
    return Result.map(
      userMessages("input", input.input),
      (messages) => ({ effective: { messages, toolPolicy, limits }, given: nothing })
    )
  }
  const checked = Result.all({
    messages: userMessages("input", input.input),
    history: input.history === undefined ? notGiven : historyMessages(input.history),
    instructions: text("instructions", input.instructions ?? undefined),
    limits: isGiven(input.limits) ? limits(input.limits) : notGiven,
    toolPolicy: isGiven(input.toolPolicy) ? policy(input.toolPolicy, defaults.tools) : notGiven,
    allowedTools: names("allowedTools", input.allowedTools, defaults.tools),
    toolOrder: names("toolOrder", input.toolOrder, defaults.tools),
    data: input.data === undefined ? notGiven : json("data", input.data)
  })
  return Result.map(
    checked,
    ({ allowedTools, data, history, instructions, limits, messages, toolOrder, toolPolicy }) => ({
      effective: {
        messages,
        toolPolicy: RunPolicy.narrow(defaults.toolPolicy, toolPolicy ?? {}),
        limits: RunPolicy.merge(defaults.limits, limits ?? {}),
        ...(history === undefined ? {} : { history }),
        ...(instructions === undefined ? {} : { instructions }),
        ...(allowedTools === undefined ? {} : { allowedTools }),
        ...(toolOrder === undefined ? {} : { toolOrder }),
        ...(data === undefined ? {} : { data })
      },
      given: { limits, toolPolicy }
    })
  )
}

const inputNames: Record<keyof RunInput.RunInput, true> = {
  input: true,
  sessionId: true,
  runId: true,
  createSession: true,
  history: true,
  instructions: true,
  allowedTools: true,
  toolOrder: true,
  toolPolicy: true,
  limits: true,
  data: true
}

/** Nothing in it replaces a default. */
const isBare = ({ allowedTools, data, history, instructions, limits, toolOrder, toolPolicy }: RunInput.RunInput) =>
  ![limits, toolPolicy, allowedTools, toolOrder].some(isGiven) &&
  history === undefined && instructions === undefined && data === undefined

/** Untyped code may have `null` for what it does not set. */
const isGiven = <A>(value: A): value is NonNullable<A> => value !== undefined && value !== null

/** What `resume` takes. Fails with the first of several bad arguments. */
export const resumed = (input: RunInput.ResumeInput) => {
  const others = noOthers("what is resumed", input, resumeNames)
  if (Result.isFailure(others)) return Result.fail(others.failure)
  const { data, limits: given, runId, sessionId } = input ?? {}
  return Result.all({
    sessionId: id("sessionId", sessionId, "name the session"),
    runId: text("runId", runId),
    limits: given === undefined ? notGiven : limits(given),
    data: data === undefined ? notGiven : json("data", data)
  })
}

const resumeNames: Record<keyof RunInput.ResumeInput, true> = { sessionId: true, runId: true, limits: true, data: true }

/** What `decide` takes, but for `params` and `result`, which depend on the tool. */
export const decision = (input: RunInput.DecideInput): Checked<unknown> => {
  const { approvalId, approved, by, reason, tool } = input
  const noId = badText({ approvalId })
  if (noId !== undefined) return Result.fail(noId)
  const others = () => noOthers("a decision", input, decisionNames)
  return Result.all([text("by", by), text("reason", reason), text("tool", tool)]).pipe(
    Result.flatMap(others),
    Result.flatMap(() =>
      typeof approved === "boolean" ? notGiven : refuse("approved", "approved must be true or false")
    )
  )
}

const decisionNames: Record<keyof RunInput.DecideInput, true> = {
  sessionId: true,
  approvalId: true,
  approved: true,
  by: true,
  reason: true,
  params: true,
  result: true,
  tool: true
}

/** What `recover` looks for, defaults filled in. */
export interface Recovery {
  readonly limit: number
  readonly answered: boolean
  /** milliseconds */
  readonly within: number
}

export const recovery = (input: RunInput.RecoverInput): Checked<Recovery> => {
  const others = noOthers("recover", input, { limit: true, answered: true, within: true })
  if (Result.isFailure(others)) return Result.fail(others.failure)
  const { answered = false, limit = 100, within: given = "7 days" } = input ?? {}
  if (typeof answered !== "boolean") return refuse("answered", "answered must be true or false")
  if (limit !== Infinity && !(Number.isInteger(limit) && limit >= 1)) {
    return refuse("limit", `limit must be a whole number of at least 1; it is ${limit}`)
  }
  return Result.map(
    duration("within", given, (millis) => millis > 0, () => "within must be a duration, or Infinity"),
    (within) => ({ answered, limit, within: Duration.toMillis(within) })
  )
}

/** How long `recovering` waits from one search to the next. */
export const every = (given: Duration.Input): Checked<Duration.Duration> =>
  duration(
    "every",
    given,
    (millis) => millis >= 1 && millis !== Infinity,
    () => "every must be a duration of at least 1 millisecond"
  )

const nothing: RunInput.Given = { limits: undefined, toolPolicy: undefined }

/**
 * An id of a session or a run: 1 to 200 characters, whole ones, no control characters, no blank at either end. `instead` says what
 * to do if it is empty.
 */
export const id = (field: string, value: string, instead?: string): Checked<string> => {
  const bad = badId(field, value, instead)
  return bad === undefined ? Result.succeed(value) : Result.fail(bad)
}

/** What to do instead of giving an empty id, if a new one is made when none is given. */
export const orNew = "leave it out for a new one"

/** What is wrong with an id; `undefined` where nothing is. */
export const badId = (field: string, value: string, instead?: string): RunError.InvalidInput | undefined => {
  if (typeof value !== "string") return noText(field)
  const trimmed = value.trim()
  const length = value.length
  if (trimmed === "") {
    return RunError.invalidInput(field, instead === undefined ? `${field} is empty` : `${field} is empty; ${instead}`)
  }
  if (length > 200) return RunError.invalidInput(field, `${field} has ${length} characters; at most 200 are allowed`)
  if (!value.isWellFormed()) return RunError.invalidInput(field, `${field} must not hold half of a surrogate pair`)
  return value !== trimmed || /\p{Cc}/u.test(value)
    ? RunError.invalidInput(field, `${field} must not begin or end with whitespace or contain control characters`)
    : undefined
}

/** The first of these fields that is not a text, since untyped code may pass anything; `undefined` if all are. */
const badText = (fields: Readonly<Record<string, unknown>>): RunError.InvalidInput | undefined => {
  const bad = Object.keys(fields).find((field) => typeof fields[field] !== "string")
  return bad === undefined ? undefined : noText(bad)
}

const noText = (field: string) => RunError.invalidInput(field, `${field} must be a string`)
