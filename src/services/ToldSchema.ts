/**
 * The JSON Schema that a model is told of: a tool's arguments, as the loop counts them and adapters send them, or an answer.
 *
 * Does not own what strict modes make of it.
 */
import * as JsonPointer from "effect/JsonPointer"
import type * as JsonSchema from "effect/JsonSchema"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import type * as Model from "./Model.ts"

/**
 * With what stands at its root in the place of a reference to that, which is all that effect has there for a class and other
 * schemas with a name: providers take only an object. Throws on a schema that JSON Schema cannot express.
 */
export const of = (schema: Schema.Constraint): JsonSchema.JsonSchema => rooted(Schema.toJsonSchemaDocument(schema))

const rooted = (document: JsonSchema.Document<"draft-2020-12">): JsonSchema.JsonSchema => {
  const { definitions, schema } = document
  const { $ref } = schema
  const name = typeof $ref === "string" ? JsonPointer.parseUriFragment($ref)?.at(-1) : undefined
  if (name === undefined) return Object.keys(definitions).length === 0 ? schema : { ...schema, $defs: definitions }
  const { [name]: root = {}, ...others } = definitions
  const isInside = JSON.stringify([root, others]).includes(`"$ref":${JSON.stringify($ref)}`)
  return rooted({ ...document, schema: root, definitions: isInside ? definitions : others })
}

/**
 * Of a tool's arguments, by a JSON Schema of the application's own or the tool's schema. Says that they are an object, and lists that
 * there are none where there are none, as providers demand.
 */
export const ofTool = (tool: Model.Tools[number]): JsonSchema.JsonSchema => {
  const own: unknown = "jsonSchema" in tool ? tool.jsonSchema : undefined
  const schema = own === undefined ? ofArguments(tool.parametersSchema) : own as JsonSchema.JsonSchema
  if (typeof schema !== "object") return schema
  if (schema.type === undefined && says.some((word) => word in schema)) return schema
  const { not, properties = {}, type = "object", ...others } = schema
  if (type !== "object") return schema
  return { type, properties, ...others, ...(not === undefined || isNull(not) ? {} : { not }) }
}

/** effect writes a struct without members as what is not null. */
const isNull = (schema: unknown): boolean =>
  Predicate.isObject(schema) && "type" in schema && schema.type === "null" && Object.keys(schema).length === 1

/** What a schema may say at its root instead of a type. */
const says = ["$ref", "anyOf", "oneOf", "allOf"]

/** Says that there are no others where the schema refuses them, which effect leaves out. */
const ofArguments = (parameters: Schema.Constraint): JsonSchema.JsonSchema => {
  const schema = of(parameters)
  return schema.additionalProperties === true && schema.patternProperties === undefined &&
      refusesOthers(parameters)
    ? { ...schema, additionalProperties: false }
    : schema
}

/** A struct whose rest is never anything. */
const refusesOthers = (schema: Schema.Constraint): boolean => {
  const ast = SchemaAST.toEncoded(schema.ast)
  return ast._tag === "Objects" && ast.indexSignatures.some(({ type }) => type._tag === "Never")
}
