/** Owns the tool `calculate`. Does not own what an expression means (`Expression.ts`). */
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Arguments from "../Arguments.ts"
import * as ReadOnly from "../ReadOnly.ts"
import * as Expression from "./Expression.ts"
import * as Rational from "./Rational.ts"

/** The expression has no value, or is not an expression; `message` says why. */
export class CalculateError extends Schema.TaggedError<CalculateError>()("CalculateError", {
  reason: Schema.Literals(["Syntax", "DivisionByZero", "TooLarge", "NotReal"]),
  message: Schema.String
}) {}

/** The tool. */
const tool = Tool.make("calculate", {
  description: "Calculates exactly: numbers, + - * / ^, parentheses, percent (\"17% of 230\") and mod. No functions.",
  parameters: Arguments.only({
    expression: Schema.String.annotate({ description: "Such as \"12 * (3 + 4.5)\", \"2^10\" or \"10 mod 3\"" })
  }),
  success: Schema.Struct({
    result: Schema.String.annotate({ description: "In decimals" }),
    exact: Schema.Boolean.annotate({ description: "false: rounded" })
  }),
  failure: CalculateError,
  failureMode: "return"
}).annotateMerge(ReadOnly.annotations)

/** Answers a call. */
const handler = (
  { expression }: Tool.Parameters<typeof tool>
): Effect.Effect<Tool.Success<typeof tool>, CalculateError> =>
  Result.match(Expression.evaluate(expression), {
    onFailure: (problem) => Effect.fail(new CalculateError(problem)),
    onSuccess: ({ isExact, number }) => {
      const { isExact: isWhole, text } = Rational.toText(number)
      return Effect.succeed({ result: text, exact: isExact && isWhole })
    }
  })

export const toolkit = Toolkit.make(tool)

export const layer: Layer.Layer<Tool.HandlersFor<Toolkit.Tools<typeof toolkit>>> = toolkit.toLayer(
  toolkit.of({ calculate: handler })
)
