/**
 * An agent that delegates to others: a sub-agent is a tool whose handler runs it. It has a session and limits of its own, and
 * its answer is a value. What it spends also counts for the editor, whose token limit covers them all. The call's key is the
 * sub-agent's run: if the process dies meanwhile, the call is made again and attaches to the existing run, which repeats no
 * work. Stopping one stops the other, and when one waits for a person, so does the other.
 *
 * `npm run build`, set OPENAI_API_KEY or OPENAI_BASE_URL, then `node examples/team.ts "Tides and lighthouses"`
 */
import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect, Layer, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, Fiberloop, ModelOpenAi, SessionStoreSqlite, ToolCall } from "fiberloop"

const Facts = Schema.Struct({ facts: Schema.Array(Schema.String) })

export class Researcher extends Agent.Service<Researcher>()("team/Researcher", {
  instructions: "Name three facts about the topic.",
  output: Facts,
  limits: { maxTurns: 5, maxDuration: "50 seconds" }
}) {}

const Team = Toolkit.make(
  Tool.make("research", {
    description: "Has a researcher find facts about one topic",
    parameters: Schema.Struct({ topic: Schema.String }),
    success: Facts,
    failure: Schema.String,
    dependencies: [ToolCall]
  }).annotate(Tool.Idempotent, true)
)

const TeamLive = Team.toLayer(Effect.map(Researcher, (researcher) => ({
  research: ({ topic }) => ToolCall.runAgent(researcher, { input: topic })
})))

export class Editor extends Agent.Service<Editor>()("team/Editor", {
  instructions: "Have each topic researched, then write a paragraph.",
  toolkit: Team,
  output: Schema.Struct({ paragraph: Schema.String }),
  toolPolicy: { maxParallel: 4 },
  limits: { maxTokens: 100_000 },
  // a call takes as long as a whole run, more than the default limit
  timeouts: { tools: { research: "2 minutes" } }
}) {}

/** The editor with its team, over a store; each may have its own model. */
export const EditorLive = Editor.layer.pipe(Layer.provide(TeamLive))

if (process.argv[1] === import.meta.filename) {
  const program = Effect.gen(function*() {
    const editor = yield* Editor
    const result = yield* editor.run({ input: process.argv[2] ?? "Tides and lighthouses" })
    yield* Console.log(result._tag === "Completed" ? result.output.paragraph : result.explain)
  })
  const Live = EditorLive.pipe(
    Layer.provide(Layer.provide(Researcher.layer, ModelOpenAi.layer({ model: "gpt-5.5-mini" }))),
    Layer.provide([
      Fiberloop.layer,
      SessionStoreSqlite.layer({ filename: "team.db" }),
      ModelOpenAi.layer({ model: process.env.FIBERLOOP_MODEL ?? "gpt-5.5" })
    ])
  )
  NodeRuntime.runMain(Effect.provide(program, Live))
}
