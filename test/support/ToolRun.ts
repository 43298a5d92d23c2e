/** Runs one call of a toolkit's tools through the executor, with the handlers that a test provides. */
import { assert } from "@effect/vitest"
import * as Prompt from "effect/ai/Prompt"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as SchemaGetter from "effect/SchemaGetter"
import * as ToolExecutorToolkit from "../../src/layers/ToolExecutorToolkit.ts"
import type * as ToolOutcome from "../../src/run/ToolOutcome.ts"
import { ToolCall } from "../../src/services/ToolCall.ts"
import type * as ToolExecutor from "../../src/services/ToolExecutor.ts"

const parameters = Schema.Struct({ n: Schema.Finite })
const Place = Schema.Struct({ city: Schema.String, zip: Schema.optionalKey(Schema.String) })
const query = Schema.Struct({
  q: Schema.String,
  after: Schema.NullOr(Schema.String),
  limit: Schema.optionalKey(Schema.Int),
  sort: Schema.optional(Schema.Literals(["up", "down"])),
  page: Schema.Int.pipe(Schema.withDecodingDefault(Effect.succeed(1))),
  label: Schema.optionalKey(Schema.NullOr(Schema.String)),
  near: Schema.optionalKey(Place),
  places: Schema.optionalKey(Schema.Array(Place)),
  weights: Schema.optionalKey(Schema.Record(Schema.String, Schema.Finite)),
  by: Schema.optionalKey(
    Schema.Union([
      Schema.Struct({ kind: Schema.tag("name"), name: Schema.optionalKey(Schema.String) }),
      Schema.Struct({ kind: Schema.tag("age"), age: Schema.Int })
    ])
  )
})
const failure = Schema.Struct({ code: Schema.Finite, at: Schema.DateTimeUtcFromString })
const Priced = Schema.Struct({ cents: Schema.BigInt, until: Schema.Option(Schema.Date) })
/** What "drawing" looks like to its model. */
export const chart = [
  Prompt.textPart({ text: "A chart" }),
  Prompt.filePart({ mediaType: "image/png", fileName: "chart.png", data: "iVBORw0KGgo=" }),
  Prompt.filePart({ mediaType: "image/png", data: "iVBORw0KGgo=" })
]

/** What writing a result of the tools "slow" and "late" waits for. */
export const slow = { writing: Effect.void as Effect.Effect<void> }

const Slow = Schema.String.pipe(Schema.decodeTo(Schema.String, {
  decode: SchemaGetter.passthrough(),
  encode: SchemaGetter.transformEffect((text: string) => Effect.as(Effect.suspend(() => slow.writing), text))
}))

const Sealed = Schema.Redacted(Schema.String)

export const kit = Toolkit.make(
  Tool.make("plain", { parameters, success: Schema.Unknown, failure: Schema.Unknown, dependencies: [ToolCall] }),
  Tool.make("returning", { parameters, success: Schema.String, failure, failureMode: "return" }),
  Tool.make("failing", { parameters, success: Schema.String, failure }),
  Tool.make("typed", { parameters, success: Schema.Struct({ at: Schema.DateTimeUtcFromString }) }),
  Tool.make("look", { parameters, success: Schema.Unknown }).annotate(Tool.Readonly, true),
  Tool.make("slow", { parameters, success: Slow, failure: Slow, failureMode: "return" }),
  Tool.make("late", { parameters, success: Schema.String, failure: Slow }),
  Tool.make("sealed", { parameters, success: Sealed, failure: Sealed }),
  Tool.make("priced", { parameters, success: Priced, failure: Priced }),
  Tool.make("refusing", { parameters, success: Schema.String, failure: Priced, failureMode: "return" }),
  Tool.make("nothing", { success: Schema.Void }),
  Tool.make("search", { parameters: query, success: Schema.Unknown }),
  Tool.make("drawing", { success: Schema.Void, toModelOutput: () => chart }),
  Tool.make("noting", {
    parameters: Schema.Struct({ at: Schema.DateTimeUtcFromString, of: Schema.Json }),
    success: Schema.Unknown
  }),
  Tool.make("scribbling", { success: Schema.Unknown, toModelOutput: (given) => given as typeof chart })
)
type Handlers = Parameters<typeof kit.toLayer>[0]

export const unused = () => Effect.die(new Error("this handler is not for this test"))

export const failed = (result: Schema.Json): ToolOutcome.ToolOutcome => ({ _tag: "Failed", result })

interface Ran {
  readonly settlement: ToolExecutor.Settlement | ToolExecutor.Paused
  readonly progress: ReadonlyArray<unknown>
  readonly leftBehind: ReadonlyArray<ToolOutcome.ToolOutcome>
}

interface Settled extends Ran {
  readonly settlement: ToolExecutor.Settlement
  readonly outcome: ToolOutcome.ToolOutcome
}

/** Whether the executor finds the handlers themselves, or only has a function that calls them. */
export type Way = "known" | "behind handle"
export const ways: ReadonlyArray<Way> = ["known", "behind handle"]

type Asked = readonly [
  name: string,
  handlers: { readonly [K in keyof typeof kit.tools]?: any },
  options?: {
    readonly params?: Schema.Json
    readonly timeout?: Duration.Input
    readonly onProgress?: (value: Schema.Json) => Effect.Effect<void>
  }
]

/** `execute` runs a call to its outcome, `executed` also to a pause. */
export const by = (way: Way) => {
  const executed = (...asked: Asked) => run(way, ...asked)
  const execute = (...asked: Asked): Effect.Effect<Settled> =>
    Effect.map(executed(...asked), (ran) => {
      const { settlement } = ran
      return "outcome" in settlement ? { ...ran, settlement, outcome: settlement.outcome } : assert.fail("it paused")
    })
  return { execute, executed }
}

const run = Effect.fnUntraced(function*(
  way: Way,
  ...[name, handlers, options = {}]: Asked
): Effect.fn.Return<Ran> {
  const all = {
    plain: unused,
    returning: unused,
    failing: unused,
    typed: unused,
    look: unused,
    slow: unused,
    late: unused,
    sealed: unused,
    priced: unused,
    refusing: unused,
    nothing: unused,
    search: unused,
    drawing: unused,
    scribbling: unused,
    noting: unused,
    ...handlers
  }
  const known = Effect.zipWith(kit, Effect.context<never>(), (found, foundIn) => ({ ...found, foundIn }))
  const resolved = yield* Effect.provide(way === "known" ? known : kit, kit.toLayer(all as Handlers as never))
  const progress: Array<unknown> = []
  const leftBehind: Array<ToolOutcome.ToolOutcome> = []
  const settlement = yield* ToolExecutorToolkit.make.execute(
    resolved as unknown as ToolExecutor.Handlers,
    {
      name,
      params: options.params === undefined ? { n: 1 } : options.params,
      timeout: Duration.fromInputUnsafe(options.timeout ?? "1 minute"),
      identity: { sessionId: "s", runId: "r", callId: "1.0", idempotencyKey: "key", attempt: 1, data: { tenant: 1 } }
    },
    {
      progress: (value) =>
        Effect.andThen(options.onProgress?.(value) ?? Effect.void, Effect.sync(() => progress.push(value))),
      leftBehind: (outcome) => Effect.sync(() => leftBehind.push(outcome))
    }
  )
  return { settlement, progress, leftBehind }
})
