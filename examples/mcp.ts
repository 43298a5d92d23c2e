/**
 * An agent whose tools come from an MCP server: effect's `McpClient` finds them when the agent is made, and they are then tools
 * like any other, in the agent's log, limits, spans and policy. What a server says about its tools is not trusted: a call waits
 * for a person and is not repeated after a crash, unless you know that its tool only reads.
 *
 * `npm run build`, set OPENAI_API_KEY or OPENAI_BASE_URL, then
 * `node examples/mcp.ts https://example.com/mcp "What can you look up?"`
 */
import { NodeHttpClient, NodeRuntime } from "@effect/platform-node"
import { Console, Effect, Layer } from "effect"
import { McpClient, McpProtocol, Tool } from "effect/ai"
import { Agent, Fiberloop, ModelOpenAi, SessionStoreSqlite } from "fiberloop"

/** The tools that the server has now, named `docs_...`. */
const toolsOf = Effect.fnUntraced(function*(client: McpClient.McpClient, readOnly: ReadonlyArray<string>) {
  const found = yield* McpClient.toolkit(client, "docs_")
  const tools = Object.entries(found.tools).map(([name, tool]) =>
    [name, readOnly.includes(name) ? tool.annotate(Tool.Readonly, true).setNeedsApproval(false) : tool] as const
  )
  return { ...found, tools: Object.fromEntries(tools) }
})

/** An agent with these tools; usable while the client's scope is open. */
export const makeGuide = (readOnly: ReadonlyArray<string>) =>
  Agent.make({
    name: "mcp/Guide",
    instructions: "Answer from what your tools say, in one sentence.",
    toolkit: Effect.flatMap(McpClient.McpClient, (client) => toolsOf(client, readOnly)),
    toolPolicy: { requireApprovalByDefault: true }
  })

/** A connection to a server over HTTP; `McpClient.layerStdio` starts a server as a child process. */
export const connection = (url: string) =>
  McpClient.layerHttp({ name: "guide", version: "1.0.0", url, protocol: McpProtocol.v2025_11_25 })

if (process.argv[1] === import.meta.filename) {
  const [url = "http://localhost:3000/mcp", input = "What can you look up?"] = process.argv.slice(2)
  const program = Effect.gen(function*() {
    const guide = yield* makeGuide(["docs_search"])
    const result = yield* guide.run({ input })
    yield* Console.log(result._tag === "Completed" ? result.text : result.explain)
  })
  const Live = Layer.mergeAll(
    Fiberloop.layer,
    SessionStoreSqlite.layer({ filename: "mcp.db" }),
    ModelOpenAi.layer({ model: process.env.FIBERLOOP_MODEL ?? "gpt-5.5" }),
    connection(url).pipe(Layer.provide(NodeHttpClient.layerUndici))
  )
  NodeRuntime.runMain(Effect.provide(program, Live))
}
