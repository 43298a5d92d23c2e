/**
 * Reads `null` in arguments as an optional property left out, since models write it when they must name every property (OpenAI's
 * strict mode), or by habit.
 *
 * Only what does not fit is read so: a property that takes `null` keeps it, a required one fails, and entries of records and
 * lists stay as they are. Does not own what the model is told (`ToolCodecs`).
 */
import * as Effect from "effect/Effect"
import type * as SchemaAST from "effect/SchemaAST"
import type * as SchemaIssue from "effect/SchemaIssue"

type Path = ReadonlyArray<PropertyKey>

/** The named properties of a schema that are `null`, according to an issue, and may not be. */
const nullsOf = (issue: SchemaIssue.Issue, value: unknown, path: Path): ReadonlyArray<Path> => {
  switch (issue._tag) {
    case "Composite": {
      const { ast } = issue
      const names = ast._tag === "Objects" ? ast.propertySignatures.map(({ name }) => name) : []
      return issue.issues.flatMap((inner) => {
        const [key] = inner._tag === "Pointer" ? inner.path : []
        const isNull = key !== undefined && names.includes(key) && memberOf(value, key) === null
        return isNull ? [[...path, key]] : nullsOf(inner, value, path)
      })
    }
    case "Pointer":
      return nullsOf(issue.issue, issue.path.reduce(memberOf, value), [...path, ...issue.path])
    case "Filter":
    case "Encoding":
      return nullsOf(issue.issue, value, path)
    case "AnyOf":
      return issue.issues.flatMap((inner) => nullsOf(inner, value, path))
    default:
      return []
  }
}

const memberOf = (value: unknown, key: PropertyKey): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, key)
    ? (value as Record<PropertyKey, unknown>)[key]
    : undefined

/** A copy without these properties. */
const without = (value: unknown, paths: ReadonlyArray<Path>): unknown => {
  const copy = structuredClone(value)
  for (const path of paths) Reflect.deleteProperty(path.slice(0, -1).reduce(memberOf, copy) as object, path.at(-1)!)
  return copy
}

/** The properties that are missing, according to an issue. */
const missingIn = (issue: SchemaIssue.Issue, path: Path): ReadonlyArray<Path> => {
  switch (issue._tag) {
    case "MissingKey":
      return [path]
    case "Pointer":
      return missingIn(issue.issue, [...path, ...issue.path])
    case "Composite":
    case "AnyOf":
      return issue.issues.flatMap((inner) => missingIn(inner, path))
    case "Filter":
    case "Encoding":
      return missingIn(issue.issue, path)
    default:
      return []
  }
}

const nameOf = (path: Path): string => JSON.stringify(path)

type Decode<R> = (
  value: unknown,
  options?: SchemaAST.ParseOptions
) => Effect.Effect<unknown, SchemaIssue.Issue, R>

/** Arguments that fit, and what they decode to. */
interface Fitting {
  readonly params: unknown
  readonly decoded: unknown
}

/** Arguments that do not fit because of `first`, without the nulls that may be left out. */
const fitted = <R>(
  decode: Decode<R>,
  value: unknown,
  first: SchemaIssue.Issue
): Effect.Effect<Fitting, SchemaIssue.Issue, R> => {
  if (nullsOf(first, value, []).length === 0) return Effect.fail(first)
  return Effect.matchEffect(decode(value, { errors: "all" }), {
    onSuccess: (decoded) => Effect.succeed({ params: value, decoded }),
    onFailure: (all) => {
      const paths = nullsOf(all, value, [])
      const params = without(value, paths)
      return Effect.matchEffect(decode(params, { errors: "all" }), {
        onSuccess: (decoded) => Effect.succeed({ params, decoded }),
        onFailure: (left) => {
          // report a required property as the null that it is
          const missing = new Set(missingIn(left, []).map(nameOf))
          const optional = paths.filter((path) => !missing.has(nameOf(path)))
          if (optional.length === 0) return Effect.fail(first)
          const rest = without(value, optional)
          return Effect.matchEffect(decode(rest), {
            onSuccess: (decoded) => Effect.succeed({ params: rest, decoded }),
            onFailure: (next) => fitted(decode, rest, next)
          })
        }
      })
    }
  })
}

/** Decodes as before, and tries again what does not fit; costs nothing where it fits. */
export const decoding = <R>(decode: Decode<R>) => (value: unknown): Effect.Effect<unknown, SchemaIssue.Issue, R> =>
  Effect.catchEager(decode(value), (issue) => Effect.map(fitted(decode, value, issue), ({ decoded }) => decoded))

/** The arguments for those who decode them otherwise and accept a null. Arguments without one are not looked at. */
export const fitting = <R>(decode: Decode<R>) => (value: unknown): Effect.Effect<unknown, never, R> =>
  !holdsNull(value) ? Effect.succeed(value) : Effect.as(decode(value), value).pipe(
    Effect.catch((issue) => Effect.map(fitted(decode, value, issue), ({ params }) => params)),
    // whoever decodes it then will report what does not fit, or breaks the decoding
    Effect.catchCause(() => Effect.succeed(value))
  )

const holdsNull = (value: unknown): boolean =>
  value === null || (typeof value === "object" && Object.values(value).some(holdsNull))
