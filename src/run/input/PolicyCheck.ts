/** From limits and policies as an agent or a caller writes them to those that a run uses. Pure. */
import * as Duration from "effect/Duration"
import * as Result from "effect/Result"
import * as DoomLoop from "../DoomLoop.ts"
import * as RunPolicy from "../RunPolicy.ts"
import * as CallQuota from "../state/CallQuota.ts"
import { type Checked, duration, durationOf, isObject, names, noOthers, notGiven, refuse, shown } from "./Checked.ts"

/** Limits as given, times in milliseconds; `Infinity` lifts a limit. */
export const limits = (given: RunPolicy.LimitsInput): Checked<RunPolicy.Limits> => {
  if (!isObject(given)) return refuse("limits", "limits must be an object")
  const others = noOthers("limits", given, RunPolicy.limitRules, "limits.")
  if (Result.isFailure(others)) return Result.fail(others.failure)
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

/** How many characters of a tool's result are kept; `Infinity` for all. */
export const resultLimit = (given: number): Checked<number> =>
  given === Infinity || (Number.isInteger(given) && given >= 0)
    ? Result.succeed(given)
    : refuse("ResultLimit", `ResultLimit must be a whole number of at least 0, or Infinity; it is ${shown(given)}`)

/** In milliseconds; NaN for what is not a duration. */
const millis = (input: Duration.Input | undefined): number | undefined => {
  if (input === undefined) return undefined
  const read = durationOf(input)
  return read === undefined ? NaN : Duration.toMillis(read)
}

/** The steps that have a time limit, apart from single tools. */
const steps = Object.keys(RunPolicy.defaultTimeouts).filter((key) => key !== "tools") as ReadonlyArray<
  Exclude<keyof RunPolicy.Timeouts, "tools">
>

/** Time limits as given, as durations. Limits of single tools must name one of `tools`, if the tools are known. */
export const timeouts = (
  given: RunPolicy.TimeoutsInput,
  tools?: ReadonlyArray<string>
): Checked<Partial<RunPolicy.Timeouts>> => {
  if (!isObject(given)) return refuse("timeouts", "timeouts must be an object")
  const others = noOthers("timeouts", given, RunPolicy.defaultTimeouts, "timeouts.")
  if (Result.isFailure(others)) return Result.fail(others.failure)
  const single = durations("timeouts", given, steps)
  const { tools: byTool } = given
  if (byTool === undefined) return single
  if (!isObject(byTool)) return refuse("timeouts.tools", "timeouts.tools must be an object: durations by tool")
  const named = Object.keys(byTool).filter((name) => byTool[name] !== undefined)
  const known = tools === undefined ? notGiven : names("timeouts.tools", named, tools)
  return Result.map(
    Result.all([single, known, durations("timeouts.tools", byTool, named)]),
    ([single, , tools]) => ({ ...single, tools })
  )
}

/** The durations given for these keys; NaN is not a duration. */
const durations = <K extends string>(
  field: string,
  given: { readonly [P in K]?: Duration.Input | undefined },
  keys: ReadonlyArray<K>
): Checked<Partial<Record<K, Duration.Duration>>> => {
  const out: Partial<Record<K, Duration.Duration>> = {}
  for (const key of keys) {
    const value = given[key]
    if (value === undefined) continue
    const name = `${field}.${key}`
    const message = (quoted: string) => `${name} must be a duration of at least 1 millisecond; it is ${quoted}`
    const checked = duration(name, value, (millis) => millis >= 1, message)
    if (Result.isFailure(checked)) return Result.fail(checked.failure)
    out[key] = checked.success
  }
  return Result.succeed(out)
}

const switches = ["enabled", "continueOnError", "requireApprovalByDefault"] as const

/** A tool policy as given; the tools that it names must be among the agent's `tools`. */
export const policy = (
  given: RunPolicy.ToolPolicyInput,
  tools: ReadonlyArray<string>
): Checked<RunPolicy.ToolPolicy> => {
  if (!isObject(given)) return refuse("toolPolicy", "toolPolicy must be an object")
  const others = noOthers("toolPolicy", given, RunPolicy.ToolPolicy.fields, "toolPolicy.")
  if (Result.isFailure(others)) return Result.fail(others.failure)
  const unclear = switches.find((name) => given[name] !== undefined && typeof given[name] !== "boolean")
  if (unclear !== undefined) return refuse(`toolPolicy.${unclear}`, `toolPolicy.${unclear} must be true or false`)
  const { allowList, maxCallsPerRun = {}, maxParallel } = given
  const approvalTimeout = millis(given.approvalTimeout)
  if (maxParallel !== undefined && !(maxParallel >= 1 && (maxParallel === Infinity || Number.isInteger(maxParallel)))) {
    return refuse(
      "toolPolicy.maxParallel",
      `toolPolicy.maxParallel must be a whole number of at least 1; it is ${maxParallel}`
    )
  }
  if (approvalTimeout !== undefined && !(Number.isFinite(approvalTimeout) && approvalTimeout >= 1)) {
    return refuse(
      "toolPolicy.approvalTimeout",
      `toolPolicy.approvalTimeout must be a finite duration of at least 1 millisecond; it is ${
        shown(given.approvalTimeout)
      }`
    )
  }
  if (typeof maxCallsPerRun !== "number" && !isObject(maxCallsPerRun)) {
    return refuse(
      "toolPolicy.maxCallsPerRun",
      "toolPolicy.maxCallsPerRun must be a whole number of at least 0, or an object of such, such as { pay: 1, \"*\": 10 }"
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
    ([allowList]) => RunPolicy.narrow({ ...given, allowList, approvalTimeout }, {})
  )
}

/** An agent's settings for loops; `undefined` if they are not looked for. */
export const doomLoop = (
  given:
    | { readonly after?: number | undefined; readonly exempt?: ReadonlyArray<PropertyKey> | undefined }
    | false
    | undefined,
  tools: ReadonlyArray<string>
): Checked<DoomLoop.Settings | undefined> => {
  if (given === false) return Result.succeed(undefined)
  if (!isObject(given ?? {})) return refuse("doomLoop", "doomLoop must be an object such as { after: 3 }, or false")
  const others = noOthers("doomLoop", given ?? {}, { after: true, exempt: true }, "doomLoop.")
  if (Result.isFailure(others)) return Result.fail(others.failure)
  if (!Array.isArray(given?.exempt ?? [])) {
    return refuse("doomLoop.exempt", "doomLoop.exempt must be a list of tool names")
  }
  const settings = {
    after: given?.after ?? DoomLoop.defaults.after,
    exempt: given?.exempt?.map(String) ?? DoomLoop.defaults.exempt
  }
  const { after, exempt } = settings
  return Number.isInteger(after) && after >= 2 && after <= 20
    ? Result.map(names("doomLoop.exempt", exempt, tools), () => settings)
    : refuse("doomLoop.after", `doomLoop.after must be a whole number from 2 to 20; it is ${after}`)
}
