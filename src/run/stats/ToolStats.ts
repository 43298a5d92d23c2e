/** What is counted for each tool whose handler ran. Pure. */
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import * as Distribution from "./Distribution.ts"

interface ToolStats {
  readonly errors: number
  /** of each call, in milliseconds */
  readonly time: Distribution.Distribution
}

/** By the tool's name. */
export type Tools = HashMap.HashMap<string, ToolStats>

export const empty: Tools = HashMap.empty()

const none: ToolStats = { errors: 0, time: Distribution.empty }

export const add = (self: Tools, tool: string, isError: boolean, time: number): Tools =>
  HashMap.modifyAt(self, tool, (known) => {
    const before = Option.getOrElse(known, () => none)
    return Option.some({
      errors: before.errors + (isError ? 1 : 0),
      time: Distribution.add(before.time, time)
    })
  })
