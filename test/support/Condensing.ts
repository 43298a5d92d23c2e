/** An agent over a scripted model whose context is condensed by another scripted model. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Message from "../../src/run/Message.ts"
import type { ContextManager } from "../../src/services/ContextManager.ts"
import type { Model, ModelInfo, ModelRequest } from "../../src/services/Model.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as TestAgent from "./TestAgent.ts"

export interface Condensing extends TestAgent.TestAgent {
  /** what the condensing model was asked, in full */
  readonly asked: Effect.Effect<ReadonlyArray<string>>
  readonly questions: Effect.Effect<ReadonlyArray<ModelRequest>>
}

export const make = Effect.fnUntraced(function*(
  turns: Parameters<typeof ScriptedModel.layer>[0],
  strategy: Layer.Layer<ContextManager, never, Model>,
  condenser: Parameters<typeof ScriptedModel.layer>[0],
  options: TestAgent.Options & { readonly condenserInfo?: ModelInfo } = {}
): Effect.fn.Return<Condensing, never, Scope.Scope> {
  const model = yield* Layer.build(
    ScriptedModel.layer(condenser, { info: options.condenserInfo ?? { provider: "test", name: "condenser" } })
  )
  const context = Layer.provide(strategy, Layer.succeedContext(model))
  const made = yield* TestAgent.make(turns, { ...options, context })
  const questions = Context.get(model, ScriptedModel.Script).requests
  return { ...made, questions, asked: Effect.map(questions, (_) => _.map(textOf)) }
})

/** Everything that a request says. */
export const textOf = ({ messages }: ModelRequest): string =>
  messages.map((message) =>
    message.role === "system"
      ? message.content
      : message.role === "tool"
      ? JSON.stringify(message.content)
      : Message.textOf(message.content)
  ).join("\n")
