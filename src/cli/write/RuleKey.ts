/**
 * Owns what "allow this for the session" covers: one tool and one file, whatever its new content, or one command, word by
 * word, in one folder. Never a prefix or a pattern. Pure.
 */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { normalize } from "node:path"
import * as RunCommand from "../command/RunCommand.ts"
import * as EditFile from "./EditFile.ts"
import * as WriteFile from "./WriteFile.ts"

/**
 * Equal keys are the same rule. Paths are compared by their text: one file under two names is two rules, which asks once
 * too often. `undefined` for parameters that the tool refuses and for any other tool: no rule can be made.
 */
export const of = (tool: string, params: unknown): string | undefined => {
  switch (tool) {
    case "write_file":
      return decoded(WriteFile.tool.parametersSchema, params, ({ path }) => [tool, pathOf(path)])
    case "edit_file":
      return decoded(EditFile.tool.parametersSchema, params, ({ path }) => [tool, pathOf(path)])
    case "run_command":
      return decoded(RunCommand.tool.parametersSchema, params, ({ command, cwd }) => [
        tool,
        pathOf(cwd ?? "."),
        ...command
      ])
    default:
      return undefined
  }
}

const decoded = <A>(
  schema: Schema.Decoder<A>,
  params: unknown,
  key: (params: A) => ReadonlyArray<string>
): string | undefined =>
  Option.getOrUndefined(
    Option.map(Schema.decodeUnknownOption(schema)(params), (params) => JSON.stringify(key(params)))
  )

/** Without "./", "a/../" and a slash at the end. */
const pathOf = (path: string): string => normalize(`${path}/`).replace(/(?<=.)\/+$/, "")
