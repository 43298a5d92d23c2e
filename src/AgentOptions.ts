/**
 * The options of an agent and the definition made from them: every option is checked, and unknown ones are refused.
 *
 * Does not own what else an agent runs with (`Agent`, `AgentContext`).
 */
import type * as Tool from "effect/ai/Tool"
import type * as Toolkit from "effect/ai/Toolkit"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as Definition from "./loop/env/Definition.ts"
import * as HookCheck from "./loop/env/HookCheck.ts"
import * as FinalAnswer from "./loop/start/FinalAnswer.ts"
import * as InputCheck from "./run/InputCheck.ts"
import type * as RunError from "./run/RunError.ts"
import type * as RunPolicy from "./run/RunPolicy.ts"
import * as RetryCheck from "./services/attempts/RetryCheck.ts"
import type * as Hooks from "./services/Hooks.ts"
import type * as PrepareTurn from "./services/PrepareTurn.ts"
import type * as RetryPolicy from "./services/RetryPolicy.ts"
import * as StopWhen from "./services/StopWhen.ts"
import type * as ToolExecutor from "./services/ToolExecutor.ts"

/** A toolkit, a toolkit with its handlers, or an effect that makes the latter (MCP, per tenant). */
export type Source<Tools extends Record<string, Tool.Any>, E, R> =
  | Toolkit.Toolkit<Tools>
  | Toolkit.WithHandler<Tools>
  | Effect.Effect<Toolkit.WithHandler<Tools>, E, R>

/**
 * The options of an agent whose answers are of type `A`. They are text without a schema, so `output` may be left out only where
 * `A` has room for text. Wrong values are a defect when the agent is made.
 */
export type Options<Tools extends Record<string, Tool.Any>, A, E = never, R = never> =
  & Untyped<Tools, E, R>
  & ([string] extends [A] ? Partial<Typed<Answer<A> | undefined>> : Typed<Answer<A>>)

type Answer<A> = Schema.ConstraintCodec<A, unknown, never, never>

interface Typed<Output> {
  /** Types `output` of a completed run: the final answer is decoded, and a wrong one gets one corrective turn. */
  readonly output: Output
}

interface Untyped<Tools extends Record<string, Tool.Any>, E, R> {
  /** the system message; a run's `instructions` replace it */
  readonly instructions: string
  /** what the model may call; default no tools */
  readonly toolkit?: Source<Tools, E, R> | undefined
  /** Limits of each run. Default: those of the Reference `Limits`, else 20 turns, 20 errors and 3 compactions in a row. */
  readonly limits?: RunPolicy.LimitsInput | undefined
  /** Which tools are offered and how their calls run. Default: all, one call at a time; a failed call does not end the run. */
  readonly toolPolicy?: RunPolicy.ToolPolicyInput | undefined
  /**
   * The same calls with the same results `after` times in a row (2 to 20, default 3) are a loop: the model is told, and one
   * more ends the run `limited`. Calls of `exempt` tools are ignored. `false`: no loops. Wrong values are a defect.
   */
  readonly doomLoop?:
    | { readonly after?: number | undefined; readonly exempt?: ReadonlyArray<keyof NoInfer<Tools>> | undefined }
    | false
    | undefined
  /**
   * Time limits of single steps. Default: those of the Reference `Timeouts`, else 120 s for a model call, 60 s until its
   * first part and between two parts, 120 s for a tool (or its entry in `tools`), 10 min for a strategy's compaction.
   */
  readonly timeouts?: RunPolicy.TimeoutsInput<keyof NoInfer<Tools> & string> | undefined
  /** How failed model calls are retried. Default: the Reference `RetryPolicy`, else 3 retries, 1 s doubling to 10 s. */
  readonly retry?: RetryPolicy.RetryPolicy | undefined
  /** Guards and observers, run in order, before those of the Reference `Hooks`; a guard that blocks a run fails it: `HookBlocked`. */
  readonly hooks?: ReadonlyArray<Hooks.Hook> | undefined
  /**
   * Asked after each turn, with its message and the outcomes of its calls: `true` completes the run with `stopWhen`. With
   * an `output` schema the turn's text must fit it, else the run fails with `InvalidOutput`. A condition that throws, fails or
   * takes longer than a tool may ends the run with `HookBlocked`. Default: never.
   */
  readonly stopWhen?: StopWhen.Condition<StopWhen.Turn> | undefined
  /**
   * Asked with the calls of a message before any of them runs: `true` settles them all as not executed and completes the
   * run with `stopBefore`. Otherwise as `stopWhen`.
   */
  readonly stopBefore?: StopWhen.Condition<StopWhen.Round> | undefined
  /**
   * Asked before each turn: may narrow its tools, say whether they must be called, and replace its instructions. Throwing,
   * failing, or taking longer than a tool may ends the run with `HookBlocked`. Default: every turn is the same.
   */
  readonly prepareTurn?: PrepareTurn.PrepareTurn<Extract<keyof NoInfer<Tools>, string>> | undefined
}

const optionNames: Record<keyof Options<{}, unknown> | "name", true> = {
  name: true,
  instructions: true,
  toolkit: true,
  output: true,
  limits: true,
  toolPolicy: true,
  doomLoop: true,
  timeouts: true,
  retry: true,
  hooks: true,
  stopWhen: true,
  stopBefore: true,
  prepareTurn: true
}

/** Dies of what has no options of an agent, and of one that an agent does not have; untyped code may pass anything. */
export const check = (options: object): Effect.Effect<unknown> =>
  Effect.orDie(Effect.suspend(() => read(InputCheck.options("an agent", options, optionNames))))

/** Wrong options, of those that `check` lets pass, are for the programmer to fix: a defect. */
export const define = <Tools extends Record<string, Tool.Any>, A, E, R>(
  name: string,
  options: Options<Tools, A, E, R>,
  handlers: ToolExecutor.Handlers
): Effect.Effect<Definition.Definition> =>
  Effect.orDie(Effect.gen(function*() {
    const tools = Object.keys(handlers.tools)
    const { hooks, instructions, output, prepareTurn, retry, stopBefore, stopWhen } = options
    yield* read(InputCheck.text("name", name))
    yield* read(InputCheck.text("instructions", instructions ?? null))
    yield* read(schemas(handlers.tools))
    if (hooks !== undefined) yield* read(HookCheck.hooks(hooks))
    if (output !== undefined && !Schema.isSchema(output)) {
      yield* read(
        InputCheck.refuse("output", "output must be a Schema of effect; another library's has to be written as one")
      )
    }
    for (const [field, given] of Object.entries({ prepareTurn, stopBefore, stopWhen })) {
      yield* read(InputCheck.callable(field, given))
    }
    if (retry !== undefined) yield* read(RetryCheck.retry(retry))
    yield* read(InputCheck.names("stopWhen", StopWhen.toolsOf(stopWhen), tools))
    yield* read(InputCheck.names("stopBefore", StopWhen.toolsOf(stopBefore), tools))
    return {
      name,
      instructions,
      handlers,
      timeouts: yield* read(InputCheck.timeouts(options.timeouts ?? {}, tools)),
      output: output === undefined ? undefined : FinalAnswer.make(output),
      rules: { stopWhen, stopBefore, prepareTurn: prepareTurn as PrepareTurn.PrepareTurn | undefined },
      limits: yield* read(InputCheck.limits(options.limits ?? {})),
      toolPolicy: yield* read(InputCheck.policy(options.toolPolicy ?? {}, tools)),
      doomLoop: yield* read(InputCheck.doomLoop(options.doomLoop, tools))
    }
  }))

/** The toolkit as it was given; untyped code may pass anything. */
export const toolkit = <S extends object>(source: S | undefined): Effect.Effect<S | undefined> =>
  source === undefined || Effect.isEffect(source) || ("tools" in Object(source) && "handle" in Object(source))
    ? Effect.succeed(source)
    : Effect.orDie(read(InputCheck.refuse(
      "toolkit",
      "toolkit must be what Toolkit.make returns, or that with its handlers, or an effect that makes the latter"
    )))

/** Whether the schemas of all tools are ones of effect; what untyped code may pass would break at the first call. */
const schemas = (tools: ToolExecutor.Handlers["tools"]): InputCheck.Checked<unknown> => {
  for (const [name, { failureSchema, parametersSchema, successSchema }] of Object.entries(tools)) {
    const given = Object.entries({ parameters: parametersSchema, success: successSchema, failure: failureSchema })
    const wrong = given.find(([, schema]) => !Schema.isSchema(schema))?.[0]
    if (wrong === undefined) continue
    const instead = wrong === "parameters" ? ", and a JSON Schema goes to Tool.dynamic" : ""
    return InputCheck.refuse(
      "toolkit",
      `${wrong} of the tool "${name}" must be a Schema of effect; another library's has to be written as one${instead}`
    )
  }
  return Result.succeed(undefined)
}

const read = <A>(checked: Result.Result<A, RunError.RunError>) => Effect.fromResult(checked)
