/**
 * Reads a tool's arguments, and writes its results and failures, as `Toolkit.handle` does; made once for each tool. The services
 * that a schema needs are in a handler's context: its requirements say so.
 *
 * Does not own when each codec is used (`KnownHandler`), nor what a failure makes of a call (`Settling`).
 */
import * as AiError from "effect/ai/AiError"
import * as Tool from "effect/ai/Tool"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as SchemaAST from "effect/SchemaAST"
import * as SchemaIssue from "effect/SchemaIssue"
import * as SchemaParser from "effect/SchemaParser"
import * as NullsLeftOut from "./NullsLeftOut.ts"

/** What a handler returned in the end. */
export type Result = Omit<Tool.HandlerResult<Tool.Any>, "preliminary">

type Codec = (value: unknown) => Effect.Effect<unknown, SchemaIssue.Issue>

type Parse = (value: unknown, options?: SchemaAST.ParseOptions) => Effect.Effect<unknown, SchemaIssue.Issue>

interface ToolCodecs {
  /**
   * Reads the JSON that the model was told of, whatever the schema's own encoded side is. Treats `null` for an optional property
   * that does not take it as if the property were left out.
   */
  readonly decode: Codec
  /** The arguments with such properties left out, for those who decode them otherwise. */
  readonly fitting: (params: unknown) => Effect.Effect<unknown>
  /** Fails as arguments that do not fit. */
  readonly unfit: (cause: Cause.Cause<SchemaIssue.Issue>) => Effect.Effect<never, AiError.AiError>
  /** Continues with a result, which may be a preliminary one, as its schema encodes it. */
  readonly encoded: <A>(
    result: unknown,
    then: (encoded: unknown) => Effect.Effect<A>
  ) => Effect.Effect<A, AiError.AiError>
  /** A result from its JSON, for `settled`. */
  readonly success: (json: unknown) => Effect.Effect<unknown, Schema.SchemaError>
  readonly settled: (result: unknown) => Effect.Effect<Result, AiError.AiError>
  /** A failure that the tool returns as its result, or fails with. */
  readonly failed: (thrown: unknown) => Effect.Effect<Result, unknown>
}

const words = SchemaIssue.makeFormatterDefault()

const known = new WeakMap<Tool.Any, ToolCodecs>()

export const of = (tool: Tool.Any): ToolCodecs => {
  let codecs = known.get(tool)
  if (codecs === undefined) known.set(tool, codecs = make(tool))
  return codecs
}

const make = (tool: Tool.Any): ToolCodecs => {
  const { name, parametersSchema } = tool
  const parse = (Schema.isSchema(parametersSchema)
    ? SchemaParser.decodeUnknownEffect(parametersSchema)
    : Effect.succeed) as Parse
  const encodeSuccess = SchemaParser.encodeUnknownEffect(tool.successSchema) as Codec
  // made for the first failure that is a result, because it covers all that an `AiError` can be
  let encodeFailure: Codec | undefined
  // made for the first result that a person gives
  let decodeSuccess: Codec | undefined
  const failure = (reason: AiError.AiErrorReason) =>
    AiError.make({ module: "Toolkit", method: `${name}.handle`, reason })
  const unfit = (issue: SchemaIssue.Issue) =>
    failure(new AiError.ToolParameterValidationError({ toolName: name, description: words(issue) }))
  const by = <A>(encode: Codec, result: unknown, then: (encoded: unknown) => Effect.Effect<A>) => {
    const misfit = (issue: SchemaIssue.Issue) =>
      failure(new AiError.ToolResultEncodingError({ toolName: name, toolResult: result, description: words(issue) }))
    return Effect.matchCauseEffectEager(encode(result), {
      onFailure: (cause) => Effect.failCause(Cause.map(cause, misfit)),
      onSuccess: then
    })
  }
  const normal = (error: unknown): unknown => {
    if (Schema.isSchemaError(error)) {
      const description = `Tool handler returned invalid result: ${error.message}`
      return failure(new AiError.InvalidToolResultError({ toolName: name, description }))
    }
    return AiError.isAiErrorReason(error) ? failure(error) : error
  }
  return {
    decode: Schema.isSchema(parametersSchema) ? orAsTold(parse, parametersSchema) : parse,
    fitting: NullsLeftOut.fitting(parse),
    unfit: (cause) => Effect.failCause(Cause.map(cause, unfit)),
    encoded: (result, then) => by(encodeSuccess, result, then),
    success: (json) =>
      Effect.suspend(() => {
        decodeSuccess ??= SchemaParser.decodeUnknownEffect(Schema.toCodecJson(tool.successSchema)) as Codec
        return Effect.mapError(decodeSuccess(json), (issue) => new Schema.SchemaError(issue))
      }),
    settled: (result) =>
      by(encodeSuccess, result, (encodedResult) =>
        Effect.succeed(
          tool.toModelOutput === undefined
            ? { result, isFailure: false, encodedResult }
            : { result, isFailure: false, encodedResult, modelOutput: tool.toModelOutput(result) }
        )),
    failed: (thrown) => {
      const error = normal(thrown)
      if (tool.failureMode === "error") return Effect.fail(error)
      encodeFailure ??= SchemaParser.encodeUnknownEffect(Tool.failureResultSchema(tool)) as Codec
      return by(
        encodeFailure,
        error,
        (encodedResult) => Effect.succeed({ result: error, isFailure: true, encodedResult })
      )
    }
  }
}

/**
 * Reads what does not fit as the JSON that the model was told of: for a `Schema.Date`, which takes a `Date`, that is a text. But no
 * text is a number: effect's JSON of a `Schema.Number` has "NaN" and "Infinity", which no rule of an application expects.
 */
const orAsTold = (parse: Parse, schema: Schema.Top): Codec => {
  const decode = NullsLeftOut.decoding(parse)
  // made for the first arguments that do not fit
  let decodeTold: Codec | undefined
  return (value) =>
    Effect.catchEager(decode(value), (issue) => {
      const told = Schema.toCodecJson(schema)
      if (told.ast === schema.ast) return Effect.fail(issue)
      const asTold = decodeTold ??= NullsLeftOut.decoding(SchemaParser.decodeUnknownEffect(told) as Codec)
      return Effect.matchEffect(parse(value, { errors: "all", reportInput: true }), {
        onFailure: (all) => isNoNumber(all) ? Effect.fail(issue) : asTold(value),
        onSuccess: () => Effect.fail(issue)
      })
    })
}

/**
 * Whether something else stands where a number is expected; a `null` may be one that is left out. Where the JSON of another type that
 * is expected as well may be meant, such as the text of a date, only a text that effect would read as a number is none.
 */
const isNoNumber = (issue: SchemaIssue.Issue, isOneOf = false): boolean => {
  switch (issue._tag) {
    case "Composite":
      return issue.issues.some((inner) => isNoNumber(inner, isOneOf))
    case "Pointer":
    case "Filter":
    case "Encoding":
      return isNoNumber(issue.issue, isOneOf)
    case "AnyOf": {
      const types = typesOf(issue.ast)
      return (types.some(isNumber) && isOther(issue.input, isOneOf || !types.every(isPlain))) ||
        issue.issues.some((inner) => isNoNumber(inner, true))
    }
    default:
      return issue._tag === "InvalidType" && isNumber(issue.ast) && isOther(issue.input, isOneOf)
  }
}

const isOther = (input: unknown, isOneOf: boolean): boolean =>
  isOneOf ? input === "NaN" || input === "Infinity" || input === "-Infinity" : input !== null

const typesOf = (type: SchemaAST.AST): ReadonlyArray<SchemaAST.AST> =>
  type._tag === "Union" ? type.types.flatMap(typesOf) : [type]

const isNumber = ({ _tag }: SchemaAST.AST): boolean => _tag === "Number"

/** Whether its JSON is itself, but for a number's. */
const isPlain = (type: SchemaAST.AST): boolean =>
  isNumber(type) || type._tag === "Undefined" || Schema.toCodecJson(Schema.make(type)).ast === type

/** The arguments that a handler would get; fails where it would get none. */
export const decoded = (tool: Tool.Any, params: unknown): Effect.Effect<unknown, Schema.SchemaError> =>
  Effect.suspend(() => Effect.mapError(of(tool).decode(params), (issue) => new Schema.SchemaError(issue)))

/**
 * The tool's failure as its schema encodes it, as a result would be; nothing where it does not fit, or the schema waits, needs a service
 * or has a bug.
 */
export const failureOf = (tool: Tool.Any, error: unknown): Option.Option<unknown> => {
  try {
    return Schema.encodeUnknownOption(tool.failureSchema as Schema.Codec<unknown>)(error)
  } catch {
    return Option.none()
  }
}
