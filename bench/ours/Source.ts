/** The scripted model and tool for the contenders that are Effect programs, which share one copy of effect. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { Model } from "../../src/services/Model.ts"
import { began, ended, type Script, type Tally } from "../harness/Contender.ts"
import * as Answers from "./Answers.ts"

export const Params = Schema.Struct({ n: Schema.Finite })

/** The tool's handler. */
export const handler = (script: Script, tally: Tally) => ({ n }: typeof Params.Type) => {
  began(tally, n)
  const end = () => {
    ended(tally)
    return { doubled: n * 2 }
  }
  return script.toolMillis > 0 ? Effect.map(Effect.sleep(script.toolMillis), end) : Effect.succeed(end())
}

/** Stops after `parts`, with a promise that may or may not hear of an interruption. */
const hanging = (script: Script, tally: Tally): Stream.Stream<never> =>
  Stream.fromEffectDrain(
    script.hang === "honours"
      ? Effect.acquireUseRelease(
        Effect.sync(() => void tally.hanging++),
        () => Effect.never,
        () => Effect.sync(() => void tally.hanging--)
      )
      : Effect.promise(() => new Promise<never>(() => {}))
  )

/** Like `arrived` of the sources that are made of promises. */
const arrived = ({ between }: Script): Effect.Effect<void> => {
  const wait = between === "microtask" ? queueMicrotask : setImmediate
  return Effect.callback((resume) => {
    wait(() => resume(Effect.void))
  })
}

/** The parts of an answer, the same array for all requests; after `latency`, and without an end where it hangs. */
export const parts = <P>(
  script: Script,
  tally: Tally,
  answer: ReadonlyArray<P>
): Stream.Stream<P> => {
  const whole = Stream.fromIterable(answer)
  const pieces = answer.length <= script.chunk ? whole : Stream.rechunk(whole, script.chunk)
  const waited = arrived(script)
  const ready = Stream.mapArrayEffect(pieces, (parts) => Effect.as(waited, parts))
  const all = script.hang === "no" ? ready : Stream.concat(ready, hanging(script, tally))
  return script.latency > 0 ? Stream.unwrap(Effect.as(Effect.sleep(script.latency), all)) : all
}

/** The scripted `Model`. */
export const model = (script: Script, tally: Tally): Model["Service"] => {
  const answer = Answers.of(script)
  return {
    info: { provider: "bench", name: "bench" },
    stream: ({ messages }) => parts(script, tally, answer(Answers.count(script, tally, messages)))
  }
}
