/** Streams of deltas as a model's attempt produces them. */
import * as Schema from "effect/Schema"
import * as RunEvent from "../../src/run/RunEvent.ts"
import { dice } from "./Odd.ts"

type Place = { readonly turn?: number; readonly attempt?: number; readonly block?: string; readonly runId?: string }

export const delta = (
  index: number,
  text: string,
  place: Place = {},
  _tag: "TextDelta" | "ReasoningDelta" = "TextDelta"
) => ({ _tag, runId: "run-1", turn: 1, attempt: 1, block: "0", ...place, index, delta: text }) as const

export const status: RunEvent.Transient = { _tag: "StatusChanged", runId: "run-1", from: "calling", to: "streaming" }

/** An attempt that streams `text` in pieces chosen by the seed, with reasoning and arguments between them. */
export const attempt = (text: string, seed: number, place: Place = {}): ReadonlyArray<RunEvent.RunEvent> => {
  const die = dice(seed)
  const out: Array<RunEvent.RunEvent> = []
  let index = 0
  for (let at = 0; at < text.length;) {
    const length = 1 + die.int(4)
    if (die.chance(0.2)) out.push(delta(index++, "hm", { ...place, block: "r" }, "ReasoningDelta"))
    if (die.chance(0.1)) out.push(status)
    out.push(delta(index++, text.slice(at, at + length), place))
    at += length
  }
  return out
}

export const text = Schema.String.check(Schema.isMaxLength(40))

export const deltasOf = (events: ReadonlyArray<RunEvent.RunEvent>) => events.filter(RunEvent.isDelta)

/** The text of a block according to its deltas. */
export const said = (events: ReadonlyArray<RunEvent.RunEvent>, block: string) =>
  deltasOf(events).filter((event) => event.block === block).map((event) => event.delta).join("")
