/** What is counted for each model that was called. Pure. */
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import * as Message from "../Message.ts"
import * as Usage from "../Usage.ts"

interface ModelStats {
  /** settled calls */
  readonly calls: number
  /** including attempts that do not count */
  readonly usage: Usage.Usage
}

/** By `provider/name`. */
export type Models = HashMap.HashMap<string, ModelStats>

export const empty: Models = HashMap.empty()

export const add = (self: Models, model: Message.ModelRef, usage: Usage.Usage, calls: 0 | 1): Models =>
  HashMap.modifyAt(self, Message.modelName(model), (known) => {
    const before = Option.getOrElse(known, () => ({ calls: 0, usage: Usage.zero }))
    return Option.some({ calls: before.calls + calls, usage: Usage.add(before.usage, usage) })
  })
