/**
 * Owns what "always" covers until fiberloop ends: one command, word by word, in one folder, with one time limit. Never a
 * prefix or a pattern; never a change of a file, since every change is shown before it is made.
 */
import type * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as ToolCodecs from "../../layers/tools/ToolCodecs.ts"
import * as RunCommand from "../tools/command/RunCommand.ts"
import * as Root from "../tools/files/Root.ts"

/**
 * Equal keys are the same rule. A folder is what its path leads to now: where a link leads elsewhere later, a rule that was made for it
 * does not hold. `undefined` for parameters that the tool refuses, for a folder that is not there and for any other tool: no rule can be
 * made.
 */
export const of = (root: Root.Root, tool: string, params: unknown): Effect.Effect<string | undefined> =>
  tool === RunCommand.tool.name
    ? ToolCodecs.of(RunCommand.tool).decode(params).pipe(
      Effect.flatMap((params) => whole(root, params as Params)),
      Effect.match({ onFailure: () => undefined, onSuccess: (all) => JSON.stringify(all) })
    )
    : Effect.succeed(undefined)

type Params = Tool.Parameters<typeof RunCommand.tool>

/** All arguments, with defaults for those that were left out. */
const whole = (root: Root.Root, { command, cwd = ".", timeoutSeconds = RunCommand.defaultTimeout }: Params) =>
  Effect.map(Root.locate(root, cwd), ({ real }) => [real, timeoutSeconds, ...command])
