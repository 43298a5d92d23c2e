/** A reader of a run that a test can wait on: until an event has arrived, until the stream is over. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type * as RunError from "../../src/run/RunError.ts"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import * as TestAgent from "./TestAgent.ts"

type Tag = RunEvent.RunEvent["_tag"]
type Of<T extends Tag> = Extract<RunEvent.RunEvent, { _tag: T }>

export interface Watch {
  readonly seen: ReadonlyArray<RunEvent.RunEvent>
  /** the n-th event of this tag, from 1 */
  readonly until: <T extends Tag>(tag: T, n?: number) => Effect.Effect<Of<T>>
  readonly over: Effect.Effect<Exit.Exit<void, RunError.RunError>>
}

export const make = Effect.fnUntraced(function*(
  events: Stream.Stream<RunEvent.RunEvent, RunError.RunError>
): Effect.fn.Return<Watch, never, Scope.Scope> {
  const seen: Array<RunEvent.RunEvent> = []
  const waiting = new Set<() => void>()
  const see = (event: RunEvent.RunEvent) =>
    Effect.sync(() => {
      seen.push(event)
      for (const check of waiting) check()
    })
  const fiber = yield* Effect.forkScoped(Stream.runForEach(events, see))
  const until = <T extends Tag>(tag: T, n = 1): Effect.Effect<Of<T>> =>
    Effect.suspend(() => {
      const found = Deferred.makeUnsafe<Of<T>>()
      const check = () => {
        const event = seen.filter((event): event is Of<T> => event._tag === tag)[n - 1]
        if (event === undefined) return
        waiting.delete(check)
        Deferred.doneUnsafe(found, Effect.succeed(event))
      }
      waiting.add(check)
      check()
      return Deferred.await(found)
    })
  return { seen, until, over: Fiber.await(fiber) }
})

/** Runs the script in session "s" and watches it. */
export const started = Effect.fnUntraced(
  function*(turns: Parameters<typeof TestAgent.make>[0], options?: TestAgent.Options) {
    const made = yield* TestAgent.make(turns, options)
    return { ...made, ...(yield* make(made.agent.stream({ sessionId: "s", input: "go" }))) }
  }
)
