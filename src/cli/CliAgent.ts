/** The agent of the command: it answers questions about the files below a folder; where it may write, it asks first. */
import type * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Context from "effect/Context"
import type * as Layer from "effect/Layer"
import * as Agent from "../Agent.ts"
import * as Calculate from "./tools/Calculate.ts"
import * as FileTools from "./tools/files/FileTools.ts"
import * as WriteTools from "./tools/write/WriteTools.ts"

export class CliAgent extends Context.Service<CliAgent, Agent.Client<string>>()("fiberloop/cli/CliAgent") {}

const looking = Toolkit.merge(FileTools.toolkit, Calculate.toolkit)
const working = Toolkit.merge(looking, WriteTools.toolkit)

/** An agent still needs the services of a run, and the handlers of its tools. */
type Layered<Tools extends Record<string, Tool.Any>> = Layer.Layer<
  CliAgent,
  never,
  Agent.Requires<{}, never> | Tool.HandlersFor<Tools>
>

/** Can only read. Its calls may run side by side. */
export const reading = (instructions: string): Layered<typeof looking["tools"]> =>
  Agent.Service<CliAgent>()(CliAgent.key, { instructions, toolkit: looking, toolPolicy: { maxParallel: 8 } }).layer

/**
 * Can also write files and run commands. Its calls run one after the other, as the model wrote them: a test that it runs
 * sees the file that it wrote before. No command that keeps the longest time it may ask for is cut off from outside.
 */
export const writing = (instructions: string): Layered<typeof working["tools"]> =>
  Agent.Service<CliAgent>()(CliAgent.key, {
    instructions,
    toolkit: working,
    timeouts: { tool: "3620 seconds" }
  }).layer
