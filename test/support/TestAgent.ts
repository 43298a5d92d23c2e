/**
 * An agent over a scripted model and a store in memory, as most tests of the loop need one. Its tools take a number and
 * do what the test says.
 */
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Agent from "../../src/Agent.ts"
import * as ContextWindow from "../../src/layers/ContextWindow.ts"
import * as RunsLocal from "../../src/layers/RunsLocal.ts"
import * as ToolExecutorToolkit from "../../src/layers/ToolExecutorToolkit.ts"
import type * as ContextManager from "../../src/services/ContextManager.ts"
import type * as Model from "../../src/services/Model.ts"
import type * as Runs from "../../src/services/Runs.ts"
import { ToolCall } from "../../src/services/ToolCall.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as TestStore from "./TestStore.ts"

const options = {
  parameters: Schema.Struct({ n: Schema.Finite }),
  success: Schema.String,
  failure: Schema.String,
  dependencies: [ToolCall]
}

/** `work` may have any effect, `look` is read-only, `again` idempotent. */
export const kit = Toolkit.make(
  Tool.make("work", options),
  Tool.make("look", options).annotate(Tool.Readonly, true),
  Tool.make("again", options).annotate(Tool.Idempotent, true)
)

export type Handler = (params: { readonly n: number }) => Effect.Effect<string, string, ToolCall>

const done: Handler = ({ n }) => Effect.succeed(`done ${n}`)

export interface Options {
  /** "test/Tested" unless given */
  readonly name?: string
  readonly agent?: Partial<Agent.Options<typeof kit.tools, string>>
  readonly store?: TestStore.TestStore
  readonly context?: Layer.Layer<ContextManager.ContextManager>
  readonly runs?: Layer.Layer<Runs.Runs>
  readonly info?: ScriptedModel.Options["info"]
  /** instead of the scripted model */
  readonly model?: Layer.Layer<Model.Model>
  /** the handler of all three tools */
  readonly tool?: Handler
}

export interface TestAgent {
  readonly agent: Agent.Client<string>
  readonly script: ScriptedModel.Script["Service"]
  readonly store: TestStore.TestStore
  /** closes the agent's layer and everything below it */
  readonly close: Effect.Effect<void>
}

export const make = Effect.fnUntraced(function*(
  turns: Parameters<typeof ScriptedModel.layer>[0],
  given: Options = {}
): Effect.fn.Return<TestAgent, never, Scope.Scope> {
  class Tested extends Agent.Service<Tested>()(given.name ?? "test/Tested", {
    instructions: "Be brief.",
    toolkit: kit,
    ...given.agent
  }) {}
  const scope = yield* Scope.make()
  yield* Effect.addFinalizer((exit) => Scope.close(scope, exit))
  const store = given.store ?? (yield* TestStore.make())
  const tool = given.tool ?? done
  const below = Layer.mergeAll(
    ScriptedModel.layer(turns, given.info === undefined ? {} : { info: given.info }),
    store.layer,
    ToolExecutorToolkit.layer,
    given.context ?? ContextWindow.layer,
    given.runs ?? RunsLocal.layer,
    kit.toLayer({ work: tool, look: tool, again: tool })
  )
  const all = Layer.provideMerge(Tested.layer, given.model === undefined ? below : Layer.mergeAll(below, given.model))
  const context = yield* Layer.buildWithScope(all, scope)
  return {
    agent: Context.get(context, Tested),
    script: Context.get(context, ScriptedModel.Script),
    store,
    close: Scope.close(scope, Exit.void)
  }
})

export const work = (n: number, id?: string) => ScriptedModel.call("work", { n }, id)
export const look = (n: number, id?: string) => ScriptedModel.call("look", { n }, id)

/** Two calls of `work` in the first turn, unless greeted with "hello". */
export const twoCallsUnlessGreeted = ({ messages, metadata }: Model.ModelRequest): ScriptedModel.Turn =>
  JSON.stringify(messages.at(-1)).includes("hello")
    ? ScriptedModel.text("hello!")
    : metadata.turn === 1
    ? [work(1), work(2)]
    : ScriptedModel.text("done")
