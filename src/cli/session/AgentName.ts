/** The name of the command's agent in the logs of its runs. Does not own the agent (`CliAgent.ts`), which loads all of its tools. */
export const own = "fiberloop/cli/CliAgent"
