/** A caller's argument after its check: as it may be used, or refused by its name. With the checks that many share. */
import * as Duration from "effect/Duration"
import * as Formatter from "effect/Formatter"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Bounds from "../log/Bounds.ts"
import * as RunError from "../RunError.ts"
import * as LostInJson from "./LostInJson.ts"
import * as NotJson from "./NotJson.ts"

/** The error is always `InvalidInput`. */
export type Checked<A> = Result.Result<A, RunError.InvalidInput>

/** `message` says what the argument `field` must be. */
export const refuse = (field: string, message: string): Checked<never> =>
  Result.fail(RunError.invalidInput(field, message))

export const notGiven: Checked<undefined> = Result.succeed(undefined)

/** What was checked. Throws a `RangeError`, which begins with `by`, where it was refused: wrong options are for the programmer to mend. */
export const taken = <A>(by: string, checked: Checked<A>): A =>
  Result.getOrThrowWith(checked, ({ message }) => new RangeError(`${by}: ${message}`))

/** A text; untyped code may pass anything. */
export const text = (field: string, given: string | undefined): Checked<string | undefined> =>
  given === undefined || typeof given === "string" ? Result.succeed(given) : refuse(field, `${field} must be a string`)

/**
 * A duration of so many milliseconds that `takes` holds; untyped code may pass anything. `message` says what the argument `field`
 * must be, and may quote what was given.
 */
export const duration = (
  field: string,
  given: Duration.Input,
  takes: (millis: number) => boolean,
  message: (quoted: string) => string
): Checked<Duration.Duration> => {
  const read = durationOf(given)
  return read === undefined || !takes(Duration.toMillis(read))
    ? refuse(field, message(shown(given)))
    : Result.succeed(read)
}

/** `undefined` for what is no duration; effect reads `NaN`, and an object without any unit that it knows, as no time at all. */
export const durationOf = (given: Duration.Input): Duration.Duration | undefined =>
  Number.isNaN(given) || hasOddUnits(given) ? undefined : Option.getOrUndefined(Duration.fromInput(given))

/** An object of units may be one of a class, as `Temporal.Duration` is, with members of its own. */
const hasOddUnits = (given: Duration.Input): boolean => {
  if (typeof given !== "object" || given === null || Array.isArray(given) || Duration.isDuration(given)) return false
  const values = given as { readonly [unit: string]: unknown }
  const named = units.map((unit) => values[unit]).filter((value) => value !== undefined)
  const others = isPlain(given)
    ? Object.keys(given).filter((name) => !(units as ReadonlyArray<string>).includes(name))
    : calendarUnits
  return named.length === 0 || named.some((value) => typeof value !== "number" || Number.isNaN(value)) ||
    // none of a unit is as good as no unit
    others.some((name) => values[name] !== undefined && values[name] !== 0)
}

/** Of no fixed length: effect would leave them out. */
const calendarUnits = ["years", "quarters", "months"]

const isPlain = (given: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(given)
  return prototype === null || prototype === Object.prototype
}

const units = [
  "weeks",
  "days",
  "hours",
  "minutes",
  "seconds",
  "milliseconds",
  "microseconds",
  "nanoseconds"
] as const satisfies ReadonlyArray<keyof Duration.DurationObject>

/** A number or a duration, or what stands in place of one, in the words of a message. */
export const shown = (given: Duration.Input | undefined): string =>
  typeof given === "object" || typeof given === "string" ? Formatter.formatJson(given) : String(given)

/** `true`, `false` or nothing; untyped code may pass anything. */
export const flag = (field: string, given: unknown): Checked<undefined> =>
  given === undefined || typeof given === "boolean" ? notGiven : refuse(field, `${field} must be true or false`)

/** One of these words, or nothing; untyped code may pass anything. */
export const oneOf = (field: string, given: unknown, words: ReadonlyArray<string>): Checked<undefined> =>
  given === undefined || words.some((word) => word === given)
    ? notGiven
    : refuse(field, `${field} must be ${words.map((word) => `"${word}"`).join(" or ")}`)

/** A number that `takes` holds, or nothing; untyped code may pass anything. `says` tells what it must be. */
export const number = (
  field: string,
  given: unknown,
  takes: (value: number) => boolean,
  says: string
): Checked<undefined> =>
  given === undefined || (typeof given === "number" && takes(given))
    ? notGiven
    : refuse(field, `${field} must be ${says}, not ${shown(given as Duration.Input)}`)

/** An object of fields by name, or nothing; untyped code may pass anything. `says` tells what it must be. */
export const fields = (field: string, given: unknown, says: string): Checked<undefined> =>
  given === undefined || isObject(given) ? notGiven : refuse(field, `${field} must be ${says}`)

/** A list, and a promise of an object, have no fields that anyone named. */
export const isObject = (given: unknown): boolean =>
  typeof given === "object" && given !== null && !Array.isArray(given) && !(given instanceof Promise)

/** A function, or none; untyped code may pass anything. */
export const callable = (field: string, given: unknown): Checked<undefined> =>
  given === undefined || typeof given === "function" ? notGiven : refuse(field, `${field} must be a function`)

/**
 * Refuses a member that `of` does not have: a misspelt one would otherwise be ignored silently. Untyped code, or a database,
 * may pass any, or a text or a list in place of the object; whether nothing may be given is the caller's to say. What an object
 * has of its class is not looked at. `place` is what the members of `of` are called by, such as `limits.`.
 */
export const noOthers = <K extends string>(
  of: string,
  given: { readonly [P in K]?: unknown },
  members: Readonly<Record<K, unknown>>,
  place = ""
): Checked<undefined> => {
  if (!isObject(given ?? {})) {
    return noObject(
      of,
      members,
      Array.isArray(given) ? "a list" : given instanceof Promise ? "a promise" : `a ${typeof given}`
    )
  }
  for (const name in given) {
    if (!Object.hasOwn(members, name) && given[name] !== undefined && Object.hasOwn(given, name)) {
      return refuse(`${place}${name}`, `${of} has no "${name}"; it has ${Object.keys(members).join(", ")}`)
    }
  }
  return notGiven
}

/** The same where an object has to be given, if only an empty one. */
export const options = <K extends string>(
  of: string,
  given: { readonly [P in K]?: unknown },
  members: Readonly<Record<K, unknown>>
): Checked<undefined> =>
  given === undefined || given === null ? noObject(of, members, String(given)) : noOthers(of, given, members)

const noObject = (of: string, members: object, given: string): Checked<never> =>
  refuse("input", `${of} has ${Object.keys(members).join(", ")}: give an object of these, not ${given}`)

/** What is wrong with a name under which warnings and the log tell of something, if anything is. */
export const unnamed = (field: string, name: unknown): string | undefined =>
  typeof name === "string" && name.trim() !== "" ? undefined : `${field} must be a text, which names it in the log`

/** A list of objects; untyped code may pass anything. */
export const list = <A extends object>(
  field: string,
  given: ReadonlyArray<A>,
  of: string
): Checked<ReadonlyArray<A>> =>
  Array.isArray(given) && given.every((item: A | null | undefined) => typeof item === "object" && item !== null)
    ? Result.succeed(given)
    : refuse(field, `${field} must be a list of ${of}`)

/** A copy of names of the agent's tools. */
export const names = (
  field: string,
  given: ReadonlyArray<string> | undefined,
  tools: ReadonlyArray<string>
): Checked<ReadonlyArray<string> | undefined> => {
  if (given === undefined || given === null) return notGiven
  if (!Array.isArray(given)) return refuse(field, `${field} must be a list of tool names`)
  const at = given.findIndex((name) => !tools.includes(name))
  if (at < 0) return Result.succeed(given.slice())
  const unknown: unknown = given[at]
  const named = typeof unknown === "string"
    ? `"${unknown}"`
    : `${unknown === null ? "null" : typeof unknown} at [${at}]`
  const has = tools.length === 0 ? "it has none" : `it has ${tools.join(", ")}`
  return refuse(field, `${field} names ${named}, which is not a tool of this agent; ${has}`)
}

/** What untyped code passed, as plain JSON of a schema, as it would be read back from a log; `undefined` if it does not fit. */
export const decoded = <A>(
  value: unknown,
  schema: Schema.ConstraintDecoder<A, never>,
  isUsable: (plain: Schema.Json, usable: A) => boolean = () => true
): A | undefined => {
  try {
    const plain = written("value", value, () => undefined)
    if (Result.isFailure(plain)) return undefined
    const usable = Option.getOrUndefined(Schema.decodeUnknownOption(schema)(plain.success))
    return usable !== undefined && isUsable(plain.success, usable) ? usable : undefined
  } catch {
    // nested deeper than the stack
    return undefined
  }
}

/** The same of an object, if the schema knows all its members: nobody would know that nothing follows from another one. */
export const decodedWhole = <A extends object>(
  value: unknown,
  schema: Schema.ConstraintDecoder<A, never>
): A | undefined =>
  decoded(value, schema, (plain, usable) => Object.keys(plain as object).every((name) => Object.hasOwn(usable, name)))

/** Plain JSON, as it will be read back: what JSON would change, or leave out, is refused, but for members that are undefined. */
export const json = (field: string, value: Schema.Json): Checked<Schema.Json> => written(field, value, LostInJson.find)

const written = (field: string, value: unknown, lostIn: typeof LostInJson.find): Checked<Schema.Json> => {
  try {
    const text = JSON.stringify(value)
    if (Bounds.isTooDeep(text)) return tooDeep(field)
    const lost = lostIn(value)
    return lost === undefined
      ? Result.succeed(JSON.parse(text) as Schema.Json)
      : refuse(field, `${field}${lost.path} is ${lost.what}, which is not JSON`)
  } catch (error) {
    return isDeeperThanTheStack(error) ? tooDeep(field) : refuse(field, NotJson.reasonOf(field, value))
  }
}

const tooDeep = (field: string): Checked<never> =>
  refuse(field, `${field} must be nested in at most ${Bounds.deepest} levels`)

const isDeeperThanTheStack = (error: unknown): boolean =>
  error instanceof RangeError && error.message.includes("call stack")
