/** The agent of the command: it answers questions about the files below a folder; where it may write, it asks first. */
import type * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"
import * as Agent from "../../Agent.ts"
import * as ContextChain from "../../layers/ContextChain.ts"
import * as ContextPruning from "../../layers/ContextPruning.ts"
import * as ContextSummary from "../../layers/ContextSummary.ts"
import * as ContextWindow from "../../layers/ContextWindow.ts"
import * as RunsLocal from "../../layers/RunsLocal.ts"
import * as ToolExecutorToolkit from "../../layers/ToolExecutorToolkit.ts"
import * as AgentName from "../session/AgentName.ts"
import * as Calculate from "../tools/calculate/Calculate.ts"
import * as ChangingTools from "../tools/ChangingTools.ts"
import * as FileTools from "../tools/files/FileTools.ts"
import type * as ShownFiles from "../tools/write/ShownFiles.ts"

export class CliAgent extends Context.Service<CliAgent, Agent.Client<string>>()(AgentName.own) {}

/** The tools of the agent that can only read, and of the one that can also write. */
export const looking = Toolkit.merge(FileTools.toolkit, Calculate.toolkit)
export const working = Toolkit.merge(looking, ChangingTools.toolkit)

/** The handlers of all these tools, below a root folder; `shown` notes what a person saw of files. */
export const handlers = (root: string, shown: ShownFiles.ShownFiles) =>
  Layer.mergeAll(FileTools.layer(root), Calculate.layer, ChangingTools.layer(root, shown))

/** The layer of an agent, which still needs the services of a run and the handlers of its tools. */
type Layered<Tools extends Record<string, Tool.Any>> = Layer.Layer<
  CliAgent,
  never,
  Agent.Requires<{}, never> | Tool.HandlersFor<Tools>
>

/** Can only read. Its calls may run in parallel. */
export const reading = (instructions: string): Layered<typeof looking["tools"]> =>
  Agent.Service<CliAgent>()(CliAgent.key, { instructions, toolkit: looking, toolPolicy: { maxParallel: 8 } }).layer

/**
 * Can also write files and run commands. Its calls run one after the other, as the model wrote them: a test that it runs
 * sees the file that it wrote before. Even a command that takes the longest time it may ask for is not cut off from outside. A
 * model that thinks, or writes a long file, may be silent for minutes: a person sees that it takes long, and may abort it.
 */
export const writing = (instructions: string): Layered<typeof working["tools"]> =>
  Agent.Service<CliAgent>()(CliAgent.key, {
    instructions,
    toolkit: working,
    timeouts: { call: "10 minutes", firstPart: "5 minutes", gap: "5 minutes", tool: "3620 seconds" }
  }).layer

const running = Layer.merge(ToolExecutorToolkit.layer, RunsLocal.layer)

/**
 * What the agent runs on when its model can sum up. Most of a long conversation is tool output: old output goes first, which
 * needs no model, and can be looked up again; then the model itself sums up. Everything left out leaves a note or a summary.
 */
export const summing = Layer.merge(running, ContextChain.layer(ContextPruning.layer, ContextSummary.layer))

/** What it runs on with the built-in model, which reads only the last task: the newest messages are enough for it. */
export const forgetting = Layer.merge(running, ContextWindow.layer)
