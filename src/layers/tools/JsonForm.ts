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
 * number that JSON has not is refused, and never a text.
 */
export const of = (schema: Schema.Top, encoded: unknown): PlainJson.PlainJson => {
  const plain = PlainJson.of(encoded)
  if (plain._tag === "Json" && (plain.isText || plain.flat !== undefined)) return plain
  try {
    if (plain._tag === "Json" && !saysItself(encoded)) return plain
    const codec = codecOf(schema)
    if (codec === undefined || (plain._tag === "Json" && isReadBy(codec, plain.text))) return plain
    const written = Schema.encodeUnknownOption(codec)(encoded)
    if (Option.isNone(written)) return plain
    const text = JSON.stringify(written.value)
    const other = text.replaceAll(noNumbers, `"other"`)
    return other === text || isReadBy(codec, other) ? PlainJson.of(written.value) : noNumber
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

/** What effect writes of numbers that JSON has not: where they were texts, any other text is read as well. */
const noNumbers = /"(?:NaN|-?Infinity)"(?!:)/g

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

/** Whether a `toJSON` has a say in what JSON makes of it. */
const saysItself = (value: unknown): boolean =>
  typeof value === "object" && value !== null && !ArrayBuffer.isView(value) &&
  (typeof (value as { readonly toJSON?: unknown }).toJSON === "function" || Object.values(value).some(saysItself))
