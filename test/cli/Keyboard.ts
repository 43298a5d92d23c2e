/** Types what a test scripted; what was typed shows on the recorder's tape. */
import { Effect, Layer } from "effect"
import { Input, type Typed } from "../../src/cli/terminal/Input.ts"
import type { Recorder } from "./Recorder.ts"

/** Messages and answers in the order they are asked for; then the input ends. */
export type Script = ReadonlyArray<string | Typed>

export const layer = (
  recorder: Recorder,
  script: Script,
  { isTerminal = false }: { readonly isTerminal?: boolean }
): Layer.Layer<Input> => {
  const left = [...script]
  const next = Effect.sync(() => {
    const typed = left.shift()
    if (isTerminal && typed !== undefined) {
      recorder.tape += typeof typed === "string"
        ? `${typed}\n`
        : `<${typed._tag}>\n`
    }
    return typed
  })
  return Layer.succeed(Input, {
    isTerminal,
    isGone: () => false,
    answer: (ask) => Effect.map(Effect.andThen(ask, next), (typed) => typeof typed === "string" ? typed : undefined),
    message: Effect.map(
      next,
      (typed): Typed =>
        typed === undefined ? { _tag: "Ended" } : typeof typed === "string" ? { _tag: "Message", text: typed } : typed
    ),
    dropAhead: Effect.void
  })
}
