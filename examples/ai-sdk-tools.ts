/**
 * Reuses tools of the Vercel AI SDK: their schemas check the arguments, their `execute` runs, what it yields is progress, and the
 * interruption of a call aborts its `abortSignal`. The model reads failures; `needsApproval` asks a person, as before; a person
 * gives the result of a tool without `execute`.
 *
 * Not reused: `toModelOutput` (the model reads the result as JSON), `onInputStart` and its kin, `strict`, `inputExamples`,
 * `providerOptions`, `title`, `metadata`, descriptions that are functions, and provider-defined tools. `execute` gets no
 * `messages`, and its `context` is the run's `data`.
 *
 * `npm run build`, set OPENAI_API_KEY or OPENAI_BASE_URL, then `node examples/ai-sdk-tools.ts "How warm is it in Oslo?"`
 */
import { asSchema, jsonSchema, tool, type ToolSet } from "@ai-sdk/provider-utils" // `ai` has all of them, too
import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, Fiberloop, ModelOpenAi, NeedsResult, SessionStoreMemory, ToolCall } from "fiberloop"

/** What the program already had: with zod, `inputSchema` is `z.object({ city: z.string() })`. */
export const existing = {
  getWeather: tool({
    description: "Current temperature of a city",
    inputSchema: jsonSchema<{ city: string }>({
      type: "object",
      properties: { city: { type: "string" } },
      required: ["city"]
    }),
    execute: async ({ city }) => ({ celsius: city === "Oslo" ? 4 : 19 })
  })
}

/** Only you know which of them may be called again after a crash: annotate those with `Tool.Readonly`. */
const toolOf = Effect.fnUntraced(function*(
  name: string,
  { description, execute, inputSchema, needsApproval }: ToolSet[string]
) {
  const parameters = yield* Effect.promise(async () => asSchema(inputSchema).jsonSchema)
  return Tool.dynamic(name, {
    description: typeof description === "string" ? description : name,
    parameters: parameters as { readonly type: "object" },
    failure: Schema.String,
    // a function of the arguments has no full counterpart here, because of all that it may look at: so each call asks
    needsApproval: needsApproval !== undefined && needsApproval !== false
  }).addDependency(ToolCall).annotate(NeedsResult, execute === undefined)
})

interface Around {
  readonly preliminary: (result: unknown) => Effect.Effect<void>
}

const handlerOf = ({ execute, inputSchema }: ToolSet[string]) =>
  Effect.fnUntraced(function*(params: unknown, { preliminary }: Around) {
    const { callId, data } = yield* ToolCall
    const run = Effect.runPromiseWith(yield* Effect.context<never>())
    return yield* Effect.tryPromise({
      try: async (abortSignal) => {
        const checked = await asSchema(inputSchema).validate?.(params) ?? { success: true, value: params }
        if (!checked.success) throw checked.error
        const given = execute?.(checked.value, { toolCallId: callId, messages: [], abortSignal, context: data })
        if (typeof given !== "object" || given === null || !(Symbol.asyncIterator in given)) return await given
        let last: unknown
        for await (last of given) await run(preliminary(last))
        return last
      },
      catch: (error) => error instanceof Error ? error.message : String(error)
    })
  })

/** A toolkit with its handlers, for the `toolkit` of an agent. */
export const toolkitOf = Effect.fnUntraced(function*(tools: ToolSet) {
  const entries = Object.entries(tools)
  const toolkit = Toolkit.make(...yield* Effect.forEach(entries, ([name, tool]) => toolOf(name, tool)))
  const handlers = yield* toolkit.toHandlers(
    Object.fromEntries(entries.map(([name, tool]) => [name, handlerOf(tool)]))
  )
  return yield* Effect.provideContext(toolkit, handlers)
})

export const makeAgent = Agent.make({
  name: "ai-sdk/Assistant",
  instructions: "Answer in one sentence.",
  toolkit: toolkitOf(existing)
})

if (process.argv[1] === import.meta.filename) {
  const program = Effect.gen(function*() {
    const agent = yield* makeAgent
    const result = yield* agent.run({ input: process.argv[2] ?? "How warm is it in Oslo?" })
    yield* Console.log(result.text)
  })
  NodeRuntime.runMain(Effect.provide(program, [
    Fiberloop.layer,
    SessionStoreMemory.layer,
    ModelOpenAi.layer({ model: process.env.FIBERLOOP_MODEL ?? "gpt-5.5" })
  ]))
}
