/**
 * What a tool's code returned, once its schema has encoded it, as the JSON that arguments of that schema are read from: an Option, a
 * bigint or a Map has such a form. What plain JSON says so that the schema reads it stays as plain JSON says it.
 *
 * Does not own what plain JSON is (`PlainJson`).
 */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as SchemaAST from "effect/SchemaAST"
import * as PlainJson from "./PlainJson.ts"

/**
 * `encoded` is what `schema` encodes. Plain JSON where the schema has no other form of it, or would show what a `Redacted` hides; a
 * number that JSON has not, and an `undefined` in a list, are refused, and never become a text or `null`.
 */
export const of = (schema: Schema.Top, encoded: unknown): PlainJson.PlainJson => {
  const plain = PlainJson.of(encoded)
  if (plain._tag === "Json" && (plain.isText || plain.flat !== undefined)) return plain
  try {
    if (plain._tag === "Json" && !saysItself(encoded)) return plain
    const codec = codecOf(schema)
    if (codec === undefined || (plain._tag === "Json" && isReadBy(codec, plain.text))) return plain
    if (hasLost(encoded)) return plain._tag === "Json" ? noNumber : plain
    const written = Schema.encodeUnknownOption(codec)(encoded)
    return Option.isNone(written) ? plain : PlainJson.of(withoutUndefined(encoded, written.value))
  } catch {
    // a schema is foreign code, and some have no form in JSON
    return plain
  }
}

const noNumber: PlainJson.PlainJson = {
  _tag: "NotJson",
  message: "it has a number that is not finite, which is not JSON"
}

type Codec = Schema.Codec<unknown, Schema.Json>

/** Whether it has no more than the schema expects, either: an Option says itself as its JSON, and more. */
const isReadBy = (codec: Codec, text: string): boolean =>
  Option.isSome(Schema.decodeUnknownOption(codec, { onExcessProperty: "error" })(JSON.parse(text)))

/**
 * Whether it has a number that is not finite, in values of any kind, or an `undefined` in a plain list: effect would write both. `seen`
 * has the values around it.
 */
const hasLost = (value: unknown, isPlain = true, seen: ReadonlyArray<object> = []): boolean => {
  if (typeof value === "number") return !Number.isFinite(value)
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value) || seen.includes(value)) return false
  const around = [...seen, value]
  if (Array.isArray(value)) {
    return value.some((item) => (item === undefined && isPlain) || hasLost(item, isPlain, around))
  }
  const isOwn = isPlain && Object.getPrototypeOf(value) === Object.prototype
  const members = itemsOf(value) ?? Object.values(value)
  return members.some((member) => hasLost(member, isOwn, around))
}

/** What a collection has, a map by its entries; an effect is no collection, although it can be iterated: it yields itself. */
const itemsOf = (value: object): ReadonlyArray<unknown> | undefined => {
  if (!(Symbol.iterator in value)) return undefined
  const items = Array.from(value as Iterable<unknown>)
  return items.includes(value) ? undefined : items.flat()
}

/** Members that are undefined are left out, as plain JSON leaves them out; effect writes them as `null`. */
const withoutUndefined = (given: unknown, written: Schema.Json): Schema.Json => {
  if (given === written || typeof given !== "object" || given === null) return written
  if (typeof written !== "object" || written === null) return written
  if (Array.isArray(written)) {
    return Array.isArray(given) ? written.map((item: Schema.Json, at) => withoutUndefined(given[at], item)) : written
  }
  const members = given as Readonly<Record<string, unknown>>
  return Object.fromEntries(
    Object.entries(written).flatMap(([key, member]) =>
      member === null && key in members && members[key] === undefined
        ? []
        : [[key, withoutUndefined(members[key], member as Schema.Json)]]
    )
  )
}

const known = new WeakMap<SchemaAST.AST, Codec | undefined>()

/** Between what a schema encodes and its JSON; `undefined` where that is the same, or would show a secret. */
const codecOf = (schema: Schema.Top): Codec | undefined => {
  if (known.has(schema.ast)) return known.get(schema.ast)
  const encoded = Schema.toEncoded(schema)
  const json = Schema.toCodecJson(encoded)
  const codec = json.ast === encoded.ast || hidesIn(json.ast, new Set()) ? undefined : json as Codec
  known.set(schema.ast, codec)
  return codec
}

/** Whether something within is `Redacted`, which says itself as no more than that, while its form in JSON is the secret. */
const hidesIn = (ast: SchemaAST.AST, seen: Set<SchemaAST.AST>): boolean => {
  if (seen.has(ast)) return false
  seen.add(ast)
  const { representation } = (ast.annotations ?? {}) as { readonly representation?: { readonly id?: unknown } }
  return representation?.id === "effect/schema/Redacted" ||
    [...partsOf(ast), ...(ast.encoding ?? []).map(({ to }) => to)].some((part) => hidesIn(part, seen))
}

const partsOf = (ast: SchemaAST.AST): ReadonlyArray<SchemaAST.AST> => {
  switch (ast._tag) {
    case "Declaration":
      return ast.typeParameters
    case "Arrays":
      return [...ast.elements, ...ast.rest]
    case "Objects":
      return [...ast.propertySignatures, ...ast.indexSignatures].map(({ type }) => type)
    case "Union":
      return ast.types
    case "Suspend":
      return [ast.thunk()]
    default:
      return []
  }
}

/** Whether a `toJSON` has a say in what JSON makes of it, but for that of a date, which every schema for one reads. */
const saysItself = (value: unknown): boolean =>
  typeof value === "object" && value !== null && !ArrayBuffer.isView(value) && !(value instanceof Date) &&
  (typeof (value as { readonly toJSON?: unknown }).toJSON === "function" || Object.values(value).some(saysItself))
