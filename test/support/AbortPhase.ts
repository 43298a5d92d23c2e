/** A phase in which a run can be aborted, held at an obstacle, and what phases are made of. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as SessionStoreMemory from "../../src/layers/SessionStoreMemory.ts"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import * as Approver from "../../src/services/Approver.ts"
import { ContextManager } from "../../src/services/ContextManager.ts"
import type { Hook, Point } from "../../src/services/Hooks.ts"
import * as Reconciler from "../../src/services/Reconciler.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Approvals from "./Approvals.ts"
import * as DeadRun from "./DeadRun.ts"
import type * as Obstacle from "./Obstacle.ts"
import * as Shrinking from "./Shrinking.ts"
import * as TestAgent from "./TestAgent.ts"
import * as TestStore from "./TestStore.ts"

export interface Phase {
  readonly turns: ReadonlyArray<ScriptedModel.Turn>
  readonly options?: TestAgent.Options
  /** also called the run that a resume continues */
  readonly runId: string
  readonly begins: "start" | "resume"
  /** settings of whoever starts the run */
  readonly around: <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** The run is in the phase, if that is not when the obstacle is reached. */
  readonly reached?: Effect.Effect<void>
  /** what the end event names when the obstacle is stuck */
  readonly named: ReadonlyArray<string>
  /** the end that the abort leads to; `refused` if it comes before the run's first event */
  readonly comesTo: "aborted" | "refused" | "completed"
  /** the store is what is stuck, so that no end can be written */
  readonly isStore?: boolean
  /** somebody elsewhere says yes to this question once the abort is under way */
  readonly decides?: string
  /** a reader that arrived and does not read */
  readonly hasStuckReader?: boolean
}

type Make = (obstacle: Obstacle.Obstacle) => Effect.Effect<Phase, never, Scope.Scope>

export interface Kind {
  /** how what holds the phase may respond to an abort */
  readonly manners: ReadonlyArray<Obstacle.Manner>
  /** how many reach the obstacle; default one */
  readonly all?: number
  /** the run has no event yet */
  readonly isEarly?: boolean
  readonly make: Make
}

export const plain = {
  runId: "r",
  begins: "start",
  around: <A, E, R>(self: Effect.Effect<A, E, R>) => self,
  named: [],
  comesTo: "aborted"
} as const

export const twoCalls = [TestAgent.work(1, "a"), TestAgent.work(2, "b")]

/** A model that reaches the obstacle in the middle of its turn. */
export const gateOf = (obstacle: Obstacle.Obstacle) =>
  Effect.map(ScriptedModel.makeGate, (gate) => ScriptedModel.gate({ ...gate, wait: obstacle.wait }))

/** A store that reaches the obstacle before the first batch with such an event. */
export const holding = (
  isHeld: (event: RunEvent.Durable) => boolean,
  turns: ReadonlyArray<ScriptedModel.Turn>,
  agent: TestAgent.Options["agent"] = {}
): Make =>
(obstacle) => {
  let isPast = false
  return Effect.map(
    TestStore.make(({ events, store }) => {
      if (isPast || !events.some(isHeld)) return store
      isPast = true
      return Effect.andThen(obstacle.wait, store)
    }),
    (store): Phase => ({ ...plain, turns, options: { store, agent }, isStore: true })
  )
}

/** A run that takes up what another left when it died, and asks what became of its calls. */
export const reconciling = (wasAborted: boolean, rest: Partial<Phase>): Make => (obstacle) =>
  Effect.map(DeadRun.left({ wasAborted }), (store): Phase => ({
    ...plain,
    turns: [],
    options: { store },
    around: Effect.provideService(Reconciler.Reconciler, {
      reconcile: ({ callId }) =>
        callId === "1.0"
          ? Effect.succeed({ _tag: "Done" })
          : Effect.as(obstacle.wait, { _tag: "Unknown" } as const)
    }),
    comesTo: "refused",
    ...rest
  }))

export const tool =
  (rest: Partial<Phase> & Pick<Phase, "turns">, options: TestAgent.Options = {}): Make => (obstacle) =>
    Effect.succeed({
      ...plain,
      options: { tool: () => Effect.as(obstacle.wait, "done after all"), ...options },
      named: ["work"],
      ...rest
    })

/** A hook reaches the obstacle, in the first run that asks it. */
export const hooked =
  (point: Point, rest: Partial<Phase> & Pick<Phase, "turns">, agent: TestAgent.Options["agent"] = {}): Make =>
  (obstacle) => {
    const hook: Hook = {
      name: "slow",
      [point]: ({ runId }: { readonly runId: string }) => runId === plain.runId ? obstacle.wait : Effect.void
    }
    return Effect.succeed({ ...plain, options: { agent: { ...agent, hooks: [hook] } }, named: ["hook slow"], ...rest })
  }

/** Reports progress more often than anyone could read, before it reaches the obstacle. */
export const telling = (obstacle: Obstacle.Obstacle): TestAgent.Handler => {
  const handler = (_: unknown, { preliminary }: { preliminary: (text: string) => Effect.Effect<void> }) =>
    Effect.forEach(Array.from({ length: 2_000 }, (_, i) => `${i}`), preliminary, { discard: true }).pipe(
      Effect.andThen(obstacle.wait),
      Effect.as("done after all")
    )
  return handler as never
}

export const inParallel = { agent: { toolPolicy: { maxParallel: 2 } } }

/** `work` asks a rule whether it needs a person. */
export const ruled = (obstacle: Obstacle.Obstacle) =>
  Approvals.withWork(TestAgent.kit.tools.work.setNeedsApproval(() => Effect.as(obstacle.wait, false)))

/** Wants to shrink the context before the first request, and reaches the obstacle. */
export const shrinking = (obstacle: Obstacle.Obstacle) => {
  let isPast = false
  return Layer.succeed(ContextManager, {
    plan: (request) => {
      if (isPast) return { _tag: "Send" }
      isPast = true
      return { _tag: "Compact", request }
    },
    compact: (request) => Effect.map(obstacle.wait, () => Shrinking.oldest(request))
  })
}

/** A rule that answers `first` the first time, and then `later`. */
export const once = <A>(first: Effect.Effect<A>, later: A) => {
  let isPast = false
  return (): A | Effect.Effect<A> => {
    if (isPast) return later
    isPast = true
    return first
  }
}

/** A store whose first session is opened after the obstacle. */
export const opening = (obstacle: Obstacle.Obstacle) =>
  Effect.map(SessionStoreMemory.make, (memory) => {
    let isPast = false
    return TestStore.over({
      ...memory,
      open: (...args) =>
        Effect.suspend(() => {
          if (isPast) return memory.open(...args)
          isPast = true
          return Effect.andThen(obstacle.wait, memory.open(...args))
        })
    })
  })

export const asking = (obstacle: Obstacle.Obstacle) =>
  Effect.provideService(Approver.Approver, { ask: () => Effect.as(obstacle.wait, undefined) })
