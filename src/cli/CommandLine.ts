/** All commands, in the order in which help lists them. Their flags are in `commands`. */
import * as Command from "effect/cli/Command"
import * as AgentCommands from "./commands/AgentCommands.ts"
import * as CopyCommands from "./commands/CopyCommands.ts"
import * as LookCommands from "./commands/LookCommands.ts"
import * as WaitingCommands from "./commands/WaitingCommands.ts"

export const command = Command.make("fiberloop").pipe(
  Command.withDescription("Runs an agent on the files of a folder. Its sessions are kept and can be continued."),
  Command.withSubcommands([
    ...AgentCommands.commands,
    ...LookCommands.commands,
    ...CopyCommands.commands,
    ...WaitingCommands.commands
  ]),
  Command.withExamples([
    ...AgentCommands.runExamples,
    { command: "fiberloop sessions", description: "Find a session; show, resume, fork and export take its id" }
  ])
)
