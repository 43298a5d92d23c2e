/** The scripted model and tool of the contenders that are Effect programs, with the one copy of effect that they share. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { Model } from "../../src/services/Model.ts"
import { delta, numbers, type Script, type Tally } from "../harness/Contender.ts"

type Ask = Model["Service"]["stream"]
export type Request = Parameters<Ask>[0]
export type Part = ReturnType<Ask> extends Stream.Stream<infer P, unknown> ? P : never

export const Params = Schema.Struct({ n: Schema.Finite })

/** The tool's handler. */
export const handler = (script: Script, tally: Tally) => ({ n }: typeof Params.Type) => {
  tally.calls++
  const doubled = { doubled: n * 2 }
  return script.toolMillis > 0 ? Effect.as(Effect.sleep(script.toolMillis), doubled) : Effect.succeed(doubled)
}

/** Stops behind `parts`, with a promise that is told of an interruption or is not. */
export const hanging = (script: Script, tally: Tally): Stream.Stream<never> =>
  Stream.fromEffectDrain(
    script.hang === "honours"
      ? Effect.acquireUseRelease(
        Effect.sync(() => void tally.hanging++),
        () => Effect.never,
        () => Effect.sync(() => void tally.hanging--)
      )
      : Effect.promise(() => new Promise<never>(() => {}))
  )

/** As `arrived` of the sources that are made of promises. */
const arrived = ({ between }: Script): Effect.Effect<void> => {
  const wait = between === "microtask" ? queueMicrotask : setImmediate
  return Effect.callback((resume) => {
    wait(() => resume(Effect.void))
  })
}

/** The parts of an answer, one array of them for all requests; behind `latency`, and without an end where it hangs. */
export const parts = <P>(
  script: Script,
  tally: Tally,
  answer: ReadonlyArray<P>
): Stream.Stream<P> => {
  const pieces = Stream.rechunk(Stream.fromIterable(answer), script.chunk)
  const waited = arrived(script)
  const ready = Stream.mapArrayEffect(pieces, (parts) => Effect.as(waited, parts))
  const whole = script.hang === "no" ? ready : Stream.concat(ready, hanging(script, tally))
  return script.latency > 0 ? Stream.unwrap(Effect.as(Effect.sleep(script.latency), whole)) : whole
}

/** Answers of a `Model` to a conversation with so many rounds. */
export const answers = (script: Script): (rounds: number) => ReadonlyArray<Part> => {
  const text = Array.from({ length: script.deltas }, (): Part => ({ type: "text-delta", block: "0", delta }))
  if (script.hang !== "no") return () => text
  const usage = { inputTokens: 1, outputTokens: 1 }
  const last: ReadonlyArray<Part> = [...text, { type: "finish", reason: "stop", usage }]
  const call = (n: number): Part => ({ type: "tool-call", id: `call${n}`, name: "double", params: { n } })
  return (rounds) =>
    rounds >= script.turns
      ? last
      : [...text, ...numbers(script, rounds).map(call), { type: "finish", reason: "tool-calls", usage }]
}

/** Counts a request: a conversation is a message of the user, then two for each round. Gives how many rounds there were. */
export const count = (script: Script, tally: Tally, messages: number): number => {
  const rounds = (messages - 1) / 2
  tally.requests++
  tally.remembered += rounds * script.calls
  return rounds
}

/** The scripted `Model`. */
export const model = (script: Script, tally: Tally): Model["Service"] => {
  const answer = answers(script)
  return {
    info: { provider: "bench", name: "bench" },
    stream: ({ messages }) => parts(script, tally, answer(count(script, tally, messages.length)))
  }
}
