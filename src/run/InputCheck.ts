/**
 * From what a caller gave to what the log keeps: every default filled in, every bad argument named. Pure.
 */
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as DoomLoop from "./DoomLoop.ts"
import * as Message from "./Message.ts"
import * as RunError from "./RunError.ts"
import type * as RunInput from "./RunInput.ts"
import * as RunPolicy from "./RunPolicy.ts"
import * as CallQuota from "./state/CallQuota.ts"

export type Checked<A> = Result.Result<A, RunError.NonRetryableError>

const refuse = (field: string, message: string): Checked<never> => Result.fail(RunError.invalidInput(field, message))

/** What the agent brings to a run's input, as `RunPolicy` merges and narrows it. */
export interface Defaults {
  readonly limits: RunPolicy.Limits
  readonly toolPolicy: RunPolicy.ToolPolicy
  readonly tools: ReadonlyArray<string>
}

export const effective = (input: RunInput.RunInput, defaults: Defaults): Checked<RunInput.Effective> => {
  if (isBare(input)) {
    const { limits, toolPolicy } = defaults
    return Result.map(userMessages("input", input.input), (messages) => ({ messages, toolPolicy, limits }))
  }
  const checked = Result.all({
    messages: userMessages("input", input.input),
    history: input.history === undefined ? notGiven : historyMessages(input.history),
    limits: input.limits ? limits(input.limits) : nothing,
    toolPolicy: input.toolPolicy ? policy(input.toolPolicy, defaults.tools) : nothing,
    allowedTools: names("allowedTools", input.allowedTools, defaults.tools),
    toolOrder: names("toolOrder", input.toolOrder, defaults.tools),
    data: input.data === undefined ? notGiven : json("data", input.data)
  })
  return Result.map(checked, ({ allowedTools, data, history, limits, messages, toolOrder, toolPolicy }) => ({
    messages,
    toolPolicy: RunPolicy.narrow(defaults.toolPolicy, toolPolicy),
    limits: RunPolicy.merge(defaults.limits, limits),
    ...(history === undefined ? {} : { history }),
    ...(input.instructions === undefined ? {} : { instructions: input.instructions }),
    ...(allowedTools === undefined ? {} : { allowedTools }),
    ...(toolOrder === undefined ? {} : { toolOrder }),
    ...(data === undefined ? {} : { data })
  }))
}

/** Nothing of it replaces a default. */
const isBare = ({ allowedTools, data, history, instructions, limits, toolOrder, toolPolicy }: RunInput.RunInput) =>
  !limits && !toolPolicy && !allowedTools && !toolOrder &&
  history === undefined && instructions === undefined && data === undefined

const notGiven: Checked<undefined> = Result.succeed(undefined)
const nothing: Checked<{}> = Result.succeed({})

/** An id of a session or a run: 1 to 200 characters, none of them a control character or at its ends a blank. */
export const id = (field: string, value: string): Checked<string> => {
  const bad = badId(field, value)
  return bad === undefined ? Result.succeed(value) : Result.fail(bad)
}

/** What is wrong with an id; `undefined` where nothing is. */
export const badId = (field: string, value: string): RunError.NonRetryableError | undefined => {
  const trimmed = value.trim()
  const length = value.length
  if (trimmed === "") return RunError.invalidInput(field, `${field} is empty; leave it out for a new one`)
  if (length > 200) return RunError.invalidInput(field, `${field} has ${length} characters; at most 200 are allowed`)
  return value !== trimmed || /\p{Cc}/u.test(value) || !value.isWellFormed()
    ? RunError.invalidInput(field, `${field} may not begin or end with a blank or hold control characters`)
    : undefined
}

/** Limits as given, times in milliseconds; `Infinity` lifts a limit. */
export const limits = (given: RunPolicy.LimitsInput): Checked<RunPolicy.Limits> => {
  const out: { -readonly [K in keyof RunPolicy.Limits]: number } = {}
  for (const key of Object.keys(RunPolicy.limitRules) as Array<keyof RunPolicy.Limits>) {
    const value = key === "maxDuration" ? millis(given.maxDuration) : given[key]
    if (value === undefined) continue
    const { says, takes } = RunPolicy.limitRules[key]
    if (value !== Infinity && !takes(value)) {
      return refuse(`limits.${key}`, `limits.${key} must be ${says}; it is ${shown(given[key])}`)
    }
    out[key] = value
  }
  return Result.succeed(out)
}

const shown = (value: Duration.Input | undefined): string =>
  typeof value === "object" ? JSON.stringify(value) : String(value)

/** NaN for what is no duration. */
const millis = (input: Duration.Input | undefined): number | undefined =>
  input === undefined ? undefined : Option.match(Duration.fromInput(input), {
    onNone: () => NaN,
    onSome: Duration.toMillis
  })

/** Time limits as given, as durations. */
export const timeouts = (given: Partial<RunPolicy.Timeouts>): Checked<Partial<RunPolicy.Timeouts>> => {
  const out: { -readonly [K in keyof RunPolicy.Timeouts]?: Duration.Duration } = {}
  for (const key of Object.keys(RunPolicy.defaultTimeouts) as Array<keyof RunPolicy.Timeouts>) {
    const value = given[key]
    if (value === undefined) continue
    const duration = Duration.fromInput(value)
    if (Option.isNone(duration)) {
      return refuse(`timeouts.${key}`, `timeouts.${key} must be a duration; it is ${shown(value)}`)
    }
    out[key] = duration.value
  }
  return Result.succeed(out)
}

const isUserMessage = Schema.is(Message.UserMessage)
const isHistoryMessage = Schema.is(Schema.Union([Message.UserMessage, Message.AssistantMessage]))

/** A text or user messages, not blank; `field` names them. */
export const userMessages = (
  field: string,
  input: RunInput.RunInput["input"]
): Checked<ReadonlyArray<Message.UserMessage>> => {
  if (typeof input === "string" && input.trim() !== "") return Result.succeed([Message.user(input)])
  const given = typeof input === "string" ? [{ role: "user" as const, content: input }] : input
  const messages = given.map((message) => Message.user(message.content))
  if (given.some((message) => message.role !== "user") || !messages.every(isUserMessage)) {
    return refuse(field, `the ${field} must be a text or user messages, of text and file parts`)
  }
  return messages.length === 0 || messages.some((message) => isBlank(message.content))
    ? refuse(field, `the ${field} is empty; say what the agent is to do`)
    : Result.flatMap(addresses(field, messages), (_) => kept(field, _))
}

const historyMessages = (
  history: ReadonlyArray<RunInput.HistoryInput>
): Checked<NonNullable<RunInput.Effective["history"]>> => {
  const messages = history.map(({ content, role }) => ({ role, content: Message.user(content).content }))
  return messages.every(isHistoryMessage)
    ? Result.flatMap(addresses("history", messages), (_) => kept("history", _))
    : refuse("history", "the history must be user and assistant messages, of text and file parts")
}

/** The messages, unless a file of theirs is at an address that is no URL; the address is not repeated. */
const addresses = <M extends Message.UserMessage | Message.AssistantMessage>(
  field: string,
  messages: ReadonlyArray<M>
): Checked<ReadonlyArray<M>> => {
  for (const [index, { content }] of messages.entries()) {
    const bad = content.findIndex((part) => part.type === "file" && Message.isAddress(part) && !URL.canParse(part.data))
    if (bad !== -1) {
      return refuse(
        field,
        `part ${bad + 1} of message ${index + 1} of the ${field} is a file whose address is not a valid URL; ` +
          "correct the address, or give the file as base64"
      )
    }
  }
  return Result.succeed(messages)
}

/** Messages of which nobody else has a part: who gave them may go on with what it has. */
const kept = <M extends Message.UserMessage | Message.AssistantMessage>(
  field: string,
  messages: ReadonlyArray<M>
): Checked<ReadonlyArray<M>> => json(field, messages) as unknown as Checked<ReadonlyArray<M>>

const isBlank = (content: ReadonlyArray<Message.UserPart>): boolean =>
  content.every((part) => part.type === "text" && part.text.trim() === "")

export const policy = (
  given: RunPolicy.ToolPolicy,
  tools: ReadonlyArray<string>
): Checked<RunPolicy.ToolPolicy> => {
  const { allowList, approvalTimeout, maxCallsPerRun = {}, maxParallel } = given
  if (maxParallel !== undefined && !(maxParallel >= 1 && (maxParallel === Infinity || Number.isInteger(maxParallel)))) {
    return refuse(
      "toolPolicy.maxParallel",
      `toolPolicy.maxParallel must be a whole number of at least 1; it is ${maxParallel}`
    )
  }
  if (approvalTimeout !== undefined && !(approvalTimeout >= 1 && approvalTimeout < Infinity)) {
    return refuse(
      "toolPolicy.approvalTimeout",
      `toolPolicy.approvalTimeout must be at least 1, in milliseconds; it is ${approvalTimeout}`
    )
  }
  const quota = CallQuota.entries(maxCallsPerRun)
  const bad = quota.find(([, most]) => most !== Infinity && !(Number.isInteger(most) && most >= 0))
  if (bad !== undefined) {
    const of = typeof maxCallsPerRun === "number" ? "" : `.${bad[0]}`
    return refuse(
      "toolPolicy.maxCallsPerRun",
      `toolPolicy.maxCallsPerRun${of} must be a whole number of at least 0; it is ${bad[1]}`
    )
  }
  const named = quota.flatMap(([name]) => name === CallQuota.all ? [] : [name])
  return Result.map(
    Result.all([names("toolPolicy.allowList", allowList, tools), names("toolPolicy.maxCallsPerRun", named, tools)]),
    ([allowList]) => allowList === undefined ? given : { ...given, allowList }
  )
}

/** What an agent says of loops; `undefined` where they are not looked for. */
export const doomLoop = (
  given: { readonly after?: number; readonly exempt?: ReadonlyArray<PropertyKey> } | false | undefined,
  tools: ReadonlyArray<string>
): Checked<DoomLoop.Settings | undefined> => {
  if (given === false) return Result.succeed(undefined)
  const settings = {
    after: given?.after ?? DoomLoop.defaults.after,
    exempt: given?.exempt?.map(String) ?? DoomLoop.defaults.exempt
  }
  const { after, exempt } = settings
  return Number.isInteger(after) && after >= 2 && after <= 20
    ? Result.map(names("doomLoop.exempt", exempt, tools), () => settings)
    : refuse("doomLoop.after", `doomLoop.after must be a whole number from 2 to 20; it is ${after}`)
}

/** A copy of the names. */
const names = (
  field: string,
  given: ReadonlyArray<string> | undefined,
  tools: ReadonlyArray<string>
): Checked<ReadonlyArray<string> | undefined> => {
  if (!given) return notGiven
  const unknown = given.find((name) => !tools.includes(name))
  if (unknown === undefined) return Result.succeed(given.slice())
  const has = tools.length === 0 ? "it has none" : `it has ${tools.join(", ")}`
  return refuse(field, `${field} names "${unknown}", which is no tool of this agent; ${has}`)
}

/** Plain JSON, as it will be read back. */
export const json = (field: string, value: Schema.Json): Checked<Schema.Json> => {
  try {
    return Result.succeed(JSON.parse(JSON.stringify(value)) as Schema.Json)
  } catch {
    return refuse(field, `${field} is not JSON`)
  }
}
