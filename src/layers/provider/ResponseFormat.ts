/**
 * The field `response_format`, which makes an answer fit a schema.
 *
 * Owns how a schema is sent, and whether it can be sent in strict mode. Does not own whether a server knows the field
 * (`FormatRefusal`).
 */
import { toCodecOpenAI } from "effect/ai/OpenAiStructuredOutput"
import * as Tool from "effect/ai/Tool"
import { memoize } from "effect/Function"
import type * as JsonSchema from "effect/JsonSchema"
import type * as Schema from "effect/Schema"
import * as ToldSchema from "../../services/ToldSchema.ts"
import * as Json from "./Json.ts"
import * as StrictForm from "./StrictForm.ts"

export interface ResponseFormat {
  readonly type: "json_schema"
  readonly json_schema: {
    readonly name: string
    readonly schema: JsonSchema.JsonSchema
    readonly strict: boolean
  }
}

const make = (name: string, schema: JsonSchema.JsonSchema, strict: boolean): ResponseFormat => ({
  type: "json_schema",
  json_schema: { name: name.replace(/[^\w-]/g, "_").slice(0, 64) || "answer", schema, strict }
})

/** For an answer that strict mode's codec decodes. Throws where strict mode cannot express the schema. */
export const ofObject = (name: string, schema: Schema.Constraint): ResponseFormat =>
  make(name, Tool.getJsonSchemaFromSchema(schema, { transformer: toCodecOpenAI }), true)

/** Members whose keys are arbitrary names, each for a schema. */
const named: ReadonlySet<string> = new Set(["properties", "$defs", "definitions"])

/** Whether `of` is true of a node of a schema and all nodes below it. */
const holds = (json: Json.Json, of: (node: Json.JsonObject) => boolean, isNamed = false): boolean => {
  if (typeof json !== "object" || json === null) return true
  const node = Json.object(json)
  if (node === undefined) return Json.array(json).every((item) => holds(item, of))
  return (isNamed || of(node))
    && Object.entries(node).every(([key, member]) => holds(member, of, !isNamed && named.has(key)))
}

/** Whether strict mode may take a JSON Schema that an application wrote: it has neither tuples nor records. */
export const isStrict = (schema: JsonSchema.JsonSchema): boolean =>
  holds(schema as Json.Json, (node) =>
    typeof node["additionalProperties"] !== "object"
    && !("prefixItems" in node || "patternProperties" in node || "not" in node))

/** Whether every property is required. */
const requiresAll = (schema: JsonSchema.JsonSchema): boolean =>
  holds(schema as Json.Json, (node) => {
    const required = Json.array(node["required"])
    return Object.keys(Json.object(node["properties"]) ?? {}).every((key) => required.includes(key))
  })

/** Members that say something of the same object, or what it is not. */
const alsoOfIt: ReadonlySet<string> = new Set(["allOf", "not"])

/**
 * The schema with no other properties in objects that have properties of their own; records stay open. An answer's other properties
 * are read by nobody, and for a schema that allows them Anthropic's package makes the model call a tool instead.
 */
const closed = (json: Json.Json, isNamed = false): Json.Json => {
  const node = Json.object(json)
  if (node === undefined) return Array.isArray(json) ? json.map((item) => closed(item)) : json
  const members = Object.entries(node).map(([key, member]) => [
    key,
    !isNamed && alsoOfIt.has(key) ? member : closed(member, !isNamed && named.has(key))
  ])
  const isOpen = !isNamed && node["additionalProperties"] === true
    && "properties" in node && !("patternProperties" in node)
  return { ...Object.fromEntries(members), ...(isOpen ? { additionalProperties: false } : {}) }
}

interface Asked {
  readonly name: string
  readonly schema: Schema.Constraint
}

const encode = ({ name, schema }: Asked): ResponseFormat | undefined => {
  try {
    const told = ToldSchema.of(schema)
    if (requiresAll(told) && StrictForm.isKept(schema)) return ofObject(name, schema)
    return told.type === "object" ? make(name, closed(told as Json.Json) as JsonSchema.JsonSchema, false) : undefined
  } catch {
    return undefined
  }
}

/** A schema is walked once for each agent that asks with it, not for each call. */
const encoded = memoize((output: Asked) => ({ format: encode(output) }))

/**
 * For an answer that the schema itself decodes: strict where strict mode's schema is the same; `undefined` where the root is
 * not an object, which the field cannot express.
 */
export const ofAnswer = (output: Asked): ResponseFormat | undefined => encoded(output).format

/** With the schema as a model is told of it. Throws on one that JSON Schema cannot express. */
export const asTold = ({ name, schema }: Asked): ResponseFormat => make(name, ToldSchema.of(schema), false)

/**
 * For an answer that is asked for in no other way: as `ofAnswer`, but where the root is not an object `asTold`, since some providers
 * take that.
 */
export const ofOnly = (output: Asked): ResponseFormat => {
  const formats = formatsOf(output.schema)
  const format = formats.get(output.name) ?? ofAnswer(output) ?? asTold(output)
  formats.set(output.name, format)
  return format
}

/** By name: who asks for an object makes a new `Asked` each time. */
const formatsOf = memoize<Schema.Constraint, Map<string, ResponseFormat>>(() => new Map())
