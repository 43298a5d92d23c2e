/**
 * Owns what "allow this for the session" covers: one command, word by word, in one folder, with one time limit. Never a
 * prefix or a pattern; never a change of a file, since every change is shown before it is made.
 */
import type * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import { normalize } from "node:path"
import * as ToolCodecs from "../../layers/tools/ToolCodecs.ts"
import * as RunCommand from "../tools/command/RunCommand.ts"

/**
 * Equal keys are the same rule. Folders are compared as text: one folder under two names makes two rules, which asks once
 * too often. `undefined` for parameters that the tool refuses and for any other tool: no rule can be made.
 */
export const of = (tool: string, params: unknown): Effect.Effect<string | undefined> =>
  tool === RunCommand.tool.name
    ? Effect.match(ToolCodecs.of(RunCommand.tool).decode(params), {
      onFailure: () => undefined,
      onSuccess: (params) => JSON.stringify(whole(params as Params))
    })
    : Effect.succeed(undefined)

type Params = Tool.Parameters<typeof RunCommand.tool>

/** All arguments, with defaults for those that were left out. */
const whole = (
  { command, cwd = ".", timeoutSeconds = RunCommand.defaultTimeout }: Params
) => [pathOf(cwd), timeoutSeconds, ...command]

/** The path without "./" and "a/../", with one slash at the end. */
const pathOf = (path: string): string => normalize(`${path}/`)
