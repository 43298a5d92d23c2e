/**
 * The object around an answer whose schema is not one of objects, `{"result":"sunny"}`: providers hold answers to schemas of
 * objects only. An answer that came without it is as good, as in all logs of before.
 *
 * Does not own how an answer is asked for (`FinalAnswer`), nor how far its JSON has come (`JsonTree`).
 */
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"

export interface Envelope {
  /** Of the member that holds the answer: no object that the schema itself takes has it, except a record. */
  readonly key: string
  /** Some answers are objects themselves, so that one with other members is likelier to be the answer. */
  readonly takesObjects: boolean
}

/**
 * `undefined`: the schema is of objects and needs none, or it takes anything, or any object, to which no provider can hold an
 * answer. The schema is as the user gave it: of its JSON codec nobody can tell `Schema.ObjectKeyword` from a list or record.
 */
export const of = (schema: Schema.Constraint): Envelope | undefined => {
  const kinds = encodedKinds(Schema.toCodecJson(schema))
  const objects = kinds.filter(SchemaAST.isObjects)
  const isOfObjects = kinds.length === 1 && objects.length === 1
  const takesAny = kinds.some(takesAnything) || encodedKinds(schema).some(SchemaAST.isObjectKeyword)
  if (isOfObjects || takesAny) return undefined
  return { key: unused(new Set(objects.flatMap(namesOf))), takesObjects: objects.length > 0 }
}

/** The schema of answers in this object, or the schema itself. */
export const around = (envelope: Envelope | undefined, schema: Codec): Codec =>
  envelope === undefined ? schema : Schema.Struct({ [envelope.key]: schema })

type Codec = Schema.ConstraintCodec<unknown, unknown, never, never>

/** The answer in a JSON value; the value itself where it has no such member. */
export const contentOf = <A>(envelope: Envelope | undefined, json: A): A =>
  envelope !== undefined && isObject<A>(json) && Object.hasOwn(json, envelope.key) ? json[envelope.key]! : json

/** What may be the answer in a JSON value, as far as that came, the likelier first: its content and the value itself. */
export const readingsOf = <A>(envelope: Envelope | undefined, json: A): readonly [A, A] => {
  const content = contentOf(envelope, json)
  const isBare = envelope?.takesObjects === true && isObject(json) && Object.keys(json).length > 1
  return isBare ? [json, content] : [content, json]
}

/** Whether this beginning of a JSON value may yet become the object around the answer, or the answer itself. */
export const isUndecided = (envelope: Envelope | undefined, json: unknown): boolean =>
  envelope !== undefined && isObject(json) && Object.keys(json).length === 0

const isObject = <A>(json: unknown): json is Readonly<Record<string, A>> =>
  typeof json === "object" && json !== null && !Array.isArray(json)

const encodedKinds = (schema: Schema.Constraint): ReadonlyArray<SchemaAST.AST> =>
  kindsOf(SchemaAST.toEncoded(schema.ast))

const kindsOf = (ast: SchemaAST.AST): ReadonlyArray<SchemaAST.AST> =>
  SchemaAST.isSuspend(ast) ? kindsOf(ast.thunk()) : SchemaAST.isUnion(ast) ? ast.types.flatMap(kindsOf) : [ast]

/** A declaration without JSON of its own is anything, as `Schema.Json` is. */
const takesAnything = (ast: SchemaAST.AST): boolean => SchemaAST.isAny(ast) || SchemaAST.isDeclaration(ast)

const namesOf = ({ propertySignatures }: SchemaAST.Objects): ReadonlyArray<PropertyKey> =>
  propertySignatures.map(({ name }) => name)

const unused = (names: ReadonlySet<PropertyKey>, name = "result"): string =>
  names.has(name) ? unused(names, `${name}_`) : name
