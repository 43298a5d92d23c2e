/** The ways in which a run is ended from outside. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type * as RunError from "../../src/run/RunError.ts"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import type * as AbortPhase from "./AbortPhase.ts"
import type * as TestAgent from "./TestAgent.ts"

export interface Given {
  readonly made: TestAgent.TestAgent
  readonly phase: Pick<AbortPhase.Phase, "around" | "begins" | "runId">
  /** of the live runs of the process, below the agent */
  readonly runs: Scope.Closeable
  readonly see: (event: RunEvent.RunEvent) => Effect.Effect<void>
}

/** A run that somebody has started. */
export interface Begun {
  /** returns when the run has ended */
  readonly abort: Effect.Effect<void>
  /** what a reader who stayed until the end was told */
  readonly told?: Effect.Effect<Exit.Exit<unknown, RunError.RunError>>
}

export interface Way {
  readonly reason: RunEvent.AbortedReason
  /** It can be used before the run's first event. */
  readonly isEarly: boolean
  /** the agent accepts no more messages */
  readonly closes?: boolean
  readonly begin: (given: Given) => Effect.Effect<Begun, never, Scope.Scope>
}

const events = ({ made: { agent }, phase: { begins, runId } }: Given) =>
  begins === "start" ? agent.stream({ sessionId: "s", runId, input: "go" }) : agent.resume({ sessionId: "s" })

/** Reads to the end. */
const reading = (given: Given) => Effect.forkScoped(given.phase.around(Stream.runForEach(events(given), given.see)))

const runOf = ({ made, phase }: Given) => Effect.map(made.agent.live(phase.runId, "s"), (run) => run!)

/** One reader reads to the end, somebody else aborts. */
export const fromElsewhere = (abort: (given: Given) => Effect.Effect<unknown>): Way["begin"] => (given) =>
  Effect.map(reading(given), (fiber) => ({ abort: Effect.asVoid(abort(given)), told: Fiber.await(fiber) }))

const requested = (given: Given) => Effect.flatMap(runOf(given), (run) => run.abort)

export const ways: Record<string, Way> = {
  "interrupting who reads": {
    reason: "consumer",
    isEarly: true,
    begin: (given) => Effect.map(reading(given), (fiber) => ({ abort: Fiber.interrupt(fiber) }))
  },
  "who reads some and leaves": {
    reason: "consumer",
    isEarly: false,
    begin: (given) =>
      Effect.gen(function*() {
        const leaving = yield* Deferred.make<void>()
        const fiber = yield* events(given).pipe(
          Stream.mapEffect(() => Deferred.await(leaving)),
          Stream.take(1),
          Stream.runDrain,
          given.phase.around,
          Effect.forkScoped
        )
        return { abort: Effect.andThen(Deferred.succeed(leaving, undefined), Effect.asVoid(Fiber.await(fiber))) }
      })
  },
  "abort": { reason: "requested", isEarly: true, begin: fromElsewhere(requested) },
  "two aborts at once": {
    reason: "requested",
    isEarly: true,
    begin: fromElsewhere((given) => Effect.all([requested(given), requested(given)], { concurrency: 2 }))
  },
  "an abort, and closing the agent's layer meanwhile": {
    reason: "requested",
    isEarly: false,
    closes: true,
    begin: fromElsewhere((given) => Effect.all([requested(given), given.made.close], { concurrency: 2 }))
  },
  "closing the agent's layer": {
    reason: "shutdown",
    isEarly: true,
    closes: true,
    begin: fromElsewhere(({ made }) => made.close)
  },
  "closing the layer of the live runs": {
    reason: "shutdown",
    isEarly: true,
    closes: true,
    begin: fromElsewhere(({ runs }) => Scope.close(runs, Exit.void))
  }
}
