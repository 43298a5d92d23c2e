/**
 * Warns, in the logs, of code that broke where the runtime goes on without it. Names, classes and places only: the words of an error
 * may hold secrets.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Foreign from "../run/Foreign.ts"
import * as RunError from "../run/RunError.ts"

/** Where it is the logger that breaks, that is ignored. */
export const warn = (message: string): Effect.Effect<void> => Effect.ignoreCause(Effect.logWarning(message))

/** What code gave where something else is wanted, such as `true` or `a text`; not its words. */
export const whatIs = (given: unknown): string => {
  if (given === null || given === undefined || typeof given === "boolean") return String(given)
  if (Array.isArray(given)) return "a list"
  if (given instanceof Promise) return "a promise"
  const kind = typeof given
  return kind === "string" ? "a text" : kind === "object" ? "an object" : `a ${kind}`
}

/** The same of what untyped code returned instead of an effect. */
export const noEffect = (given: unknown): string => `${whatIs(given)}, which is no Effect,`

/** How code broke, such as `failed: TypeError at file:///app/pay.js:12:5`. */
export const howOf = (cause: Cause.Cause<unknown>): string =>
  Cause.hasInterruptsOnly(cause) ? "interrupted itself" : `failed${saidOf(Cause.squash(cause))}`

/** What is said of something thrown, after a word such as `failed`: as much as is known. */
export const saidOf = (thrown: unknown): string => {
  const kind = RunError.kindOf(thrown)
  if (kind === undefined) return ""
  const place = placeOf(thrown as Error)
  return place === undefined ? `: ${kind}` : `: ${kind} ${place}`
}

/**
 * Where it was made: the file and line of the first call outside installed packages. Not the names of functions, which may be made of
 * arguments, nor places in code that is no file's: such code, and its address, may be what a model wrote.
 */
const placeOf = (error: Error): string | undefined => {
  const { message, stack } = Foreign.look(() => ({ message: error.message, stack: error.stack }), unreadable)
  // words of more than one line may look like a place
  if (typeof stack !== "string" || typeof message !== "string" || message.includes("\n")) return undefined
  const [first = "", ...lines] = stack.split("\n")
  const own = first.endsWith(message)
    ? lines.find((line) => isPlace.test(line) && !isElsewhere.test(line))
    : undefined
  const place = own && isPlace.exec(own)?.[1]
  return place && `at ${place.slice(0, longest)}`
}

const unreadable = { message: undefined, stack: undefined }

const isPlace = /^ {4}at (?:async )?(?:.* \()?((?:file:\/\/|\/|[A-Za-z]:[\\/]).*:\d+:\d+)\)?$/
const isElsewhere = /[\\/]node_modules[\\/]|\beval at /

/** characters of a place */
const longest = 300
