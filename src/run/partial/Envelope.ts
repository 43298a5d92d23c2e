/**
 * The object around an answer whose schema is not one of objects, `{"result":"sunny"}`: providers hold answers to schemas of
 * objects only. An answer that came without it is as good, as in all logs of before.
 *
 * Does not own how an answer is asked for (`FinalAnswer`), nor how far its JSON has come (`JsonTree`).
 */
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"

/**
 * The member that holds the answer. `undefined`: the schema is of objects and needs none, or it takes anything, to which no
 * provider can hold an answer. No object that the schema itself takes has a member of this name, except in a record.
 */
export const keyOf = (schema: Schema.Constraint): string | undefined => {
  const kinds = kindsOf(SchemaAST.toEncoded(Schema.toCodecJson(schema).ast))
  if (kinds.some(takesAnything) || (kinds.length === 1 && SchemaAST.isObjects(kinds[0]!))) return undefined
  return unused(new Set(kinds.filter(SchemaAST.isObjects).flatMap(namesOf)))
}

/** The schema of answers in this member, or the schema itself. */
export const around = (key: string | undefined, schema: Codec): Codec =>
  key === undefined ? schema : Schema.Struct({ [key]: schema })

type Codec = Schema.ConstraintCodec<unknown, unknown, never, never>

/** The answer in a JSON value, as far as that came. */
export const contentOf = <A>(key: string | undefined, json: A): A =>
  key !== undefined && isObject<A>(json) && Object.hasOwn(json, key) ? json[key]! : json

/** Whether this beginning of a JSON value may yet become the object around the answer, or the answer itself. */
export const isUndecided = (key: string | undefined, json: unknown): boolean =>
  key !== undefined && isObject(json) && Object.keys(json).length === 0

const isObject = <A>(json: unknown): json is Readonly<Record<string, A>> =>
  typeof json === "object" && json !== null && !Array.isArray(json)

const kindsOf = (ast: SchemaAST.AST): ReadonlyArray<SchemaAST.AST> =>
  SchemaAST.isSuspend(ast) ? kindsOf(ast.thunk()) : SchemaAST.isUnion(ast) ? ast.types.flatMap(kindsOf) : [ast]

/** A declaration without JSON of its own is anything, as `Schema.Json` is. */
const takesAnything = (ast: SchemaAST.AST): boolean => SchemaAST.isAny(ast) || SchemaAST.isDeclaration(ast)

const namesOf = ({ propertySignatures }: SchemaAST.Objects): ReadonlyArray<PropertyKey> =>
  propertySignatures.map(({ name }) => name)

const unused = (names: ReadonlySet<PropertyKey>, name = "result"): string =>
  names.has(name) ? unused(names, `${name}_`) : name
