/**
 * Guarantee 5, interruption means stopped: whatever ends a run, and in whatever phase, the model's stream is closed and
 * handlers are finalized before the end is seen, the end has its reason, and the session takes a new message at once.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as RunEvent from "../../src/run/RunEvent.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Aborted from "../support/Aborted.ts"
import * as Overloaded from "../support/Overloaded.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

interface Phase {
  readonly turns: ReadonlyArray<ScriptedModel.Turn>
  readonly store: TestStore.TestStore
  readonly tool: TestAgent.Handler
  /** the run is in the phase */
  readonly reached: Effect.Effect<void>
  /** releases what holds the phase, when it would not end by itself */
  readonly letGo?: Effect.Effect<void>
  /** what must have ended before the end event is seen, besides the model's stream */
  readonly isStopped: () => boolean
}

/** A handler that waits to be interrupted and counts that it was, in a scope of its own. */
const waitingTool = Effect.map(Deferred.make<void>(), (started) => {
  let finalized = 0
  const tool: TestAgent.Handler = () =>
    Effect.scoped(
      Effect.acquireRelease(Deferred.succeed(started, undefined), () => Effect.sync(() => finalized++)).pipe(
        Effect.andThen(Effect.never)
      )
    )
  return { tool, started: Deferred.await(started), finalized: () => finalized }
})

/** A store that signals when a batch with such an event was stored. */
const signalling = Effect.fnUntraced(function*(isIt: (event: RunEvent.Durable) => boolean) {
  const seen = yield* Deferred.make<void>()
  const store = yield* TestStore.make(({ events, store }) =>
    events.some(isIt) ? Effect.tap(store, () => Deferred.succeed(seen, undefined)) : store
  )
  return { store, seen: Deferred.await(seen) }
})

const phases: Record<string, Effect.Effect<Phase>> = {
  "calling, before the first part": Effect.gen(function*() {
    const gate = yield* ScriptedModel.makeGate
    let closed = false
    yield* Effect.forkDetach(Effect.andThen(gate.closed, Effect.sync(() => (closed = true))))
    return {
      turns: [[ScriptedModel.gate(gate), ScriptedModel.text("late")]],
      store: yield* TestStore.make(),
      tool: () => Effect.succeed(""),
      reached: gate.started,
      isStopped: () => closed
    }
  }),
  "streaming": Effect.gen(function*() {
    const gate = yield* ScriptedModel.makeGate
    let closed = false
    yield* Effect.forkDetach(Effect.andThen(gate.closed, Effect.sync(() => (closed = true))))
    return {
      turns: [[ScriptedModel.text("partial "), ScriptedModel.gate(gate), ScriptedModel.text("late")]],
      store: yield* TestStore.make(),
      tool: () => Effect.succeed(""),
      reached: gate.started,
      isStopped: () => closed
    }
  }),
  "retrying": Effect.gen(function*() {
    const { seen, store } = yield* signalling((event) => event._tag === "AttemptDiscarded")
    return {
      turns: [Overloaded.fail()],
      store,
      tool: () => Effect.succeed(""),
      reached: seen,
      isStopped: () => true
    }
  }),
  "tool_running": Effect.gen(function*() {
    const { finalized, started, tool } = yield* waitingTool
    return {
      turns: [[ScriptedModel.text("I will."), TestAgent.work(1, "a"), TestAgent.work(2, "b")]],
      store: yield* TestStore.make(),
      tool,
      reached: started,
      isStopped: () => finalized() === 1
    }
  }),
  "a later turn's tool_running": Effect.gen(function*() {
    const { finalized, started, tool } = yield* waitingTool
    return {
      turns: [TestAgent.look(1), TestAgent.work(2)],
      store: yield* TestStore.make(),
      tool: (params) => params.n === 1 ? Effect.succeed("found") : tool(params),
      reached: started,
      isStopped: () => finalized() === 1
    }
  }),
  "tool_running with the intent's append pending": Effect.gen(function*() {
    const held = TestStore.holding((_, events) => events.some((event) => event._tag === "ToolStarted"))
    let ran = 0
    return {
      turns: [TestAgent.work(1)],
      store: yield* TestStore.make(held.onAppend),
      tool: () => Effect.sync(() => `${ran++}`),
      reached: held.reached,
      letGo: held.release,
      isStopped: () => ran === 0
    }
  })
}

/** Reads a run and notes what is still running when its end is seen. */
const reader = (agent: TestAgent.TestAgent, phase: Phase) => {
  const events: Array<RunEvent.RunEvent> = []
  const early: Array<string> = []
  const seen: Aborted.Seen = { events, early }
  const see = Effect.fnUntraced(function*(event: RunEvent.RunEvent) {
    events.push(event)
    if (!RunEvent.isEnd(event)) return
    const open = yield* agent.script.openStreams
    if (open !== 0) early.push(`${open} open model streams`)
    if (!phase.isStopped()) early.push("what the phase holds")
  })
  return { seen, see }
}

const prepared = Effect.fnUntraced(function*(make: Effect.Effect<Phase>) {
  const phase = yield* make
  const made = yield* TestAgent.make([...phase.turns, ScriptedModel.text("hello")], phase)
  return { phase, made }
})

const whileLettingGo = <A, E>(phase: Phase, stopping: Effect.Effect<A, E>): Effect.Effect<A, E, Scope.Scope> =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkChild(stopping)
    yield* Effect.yieldNow
    yield* phase.letGo ?? Effect.void
    return yield* Fiber.join(fiber)
  })

for (const [name, make] of Object.entries(phases)) {
  describe(`a run in ${name}`, () => {
    it.effect("is aborted by interrupting the consumer of stream", () =>
      Effect.gen(function*() {
        const { made, phase } = yield* prepared(make)
        const { see } = reader(made, phase)
        const fiber = yield* Effect.forkChild(
          made.agent.stream({ sessionId: "s", input: "go" }).pipe(Stream.runForEach(see))
        )
        yield* phase.reached
        yield* whileLettingGo(phase, Fiber.interrupt(fiber))
        assert.isTrue(phase.isStopped())
        yield* Aborted.check(made, "consumer", undefined)
        yield* Aborted.answers(made)
      }))

    it.effect("is aborted when a consumer of stream takes no more", () =>
      Effect.gen(function*() {
        const { made, phase } = yield* prepared(make)
        const leave = yield* Deferred.make<void>()
        const fiber = yield* Effect.forkChild(
          made.agent.stream({ sessionId: "s", input: "go" }).pipe(
            Stream.interruptWhen(Deferred.await(leave)),
            Stream.runDrain
          )
        )
        yield* phase.reached
        yield* Deferred.succeed(leave, undefined)
        yield* whileLettingGo(phase, Fiber.join(fiber))
        yield* Aborted.check(made, "consumer", undefined)
        yield* Aborted.answers(made)
      }))

    it.effect("is aborted by interrupting run", () =>
      Effect.gen(function*() {
        const { made, phase } = yield* prepared(make)
        const fiber = yield* Effect.forkChild(made.agent.run({ sessionId: "s", input: "go" }))
        yield* phase.reached
        yield* whileLettingGo(phase, Fiber.interrupt(fiber))
        assert.isTrue(phase.isStopped())
        yield* Aborted.check(made, "consumer", undefined)
        yield* Aborted.answers(made)
      }))

    it.effect("is aborted by abort, which is announced first", () =>
      Effect.gen(function*() {
        const { made, phase } = yield* prepared(make)
        const { see, seen } = reader(made, phase)
        const run = yield* made.agent.start({ sessionId: "s", input: "go" })
        const reading = yield* Effect.forkChild(Stream.runForEach(run.events, see))
        yield* phase.reached
        yield* whileLettingGo(phase, run.abort)
        yield* Fiber.join(reading)
        yield* Aborted.check(made, "requested", seen)
        const result = yield* run.result
        assert.strictEqual(result._tag, "Aborted")
        yield* Aborted.answers(made)
      }))

    it.effect("is aborted by closing the agent's layer", () =>
      Effect.gen(function*() {
        const { made, phase } = yield* prepared(make)
        const { see, seen } = reader(made, phase)
        const run = yield* made.agent.start({ sessionId: "s", input: "go" })
        const reading = yield* Effect.forkChild(Stream.runForEach(run.events, see))
        yield* phase.reached
        yield* whileLettingGo(phase, made.close)
        yield* Fiber.join(reading)
        yield* Aborted.check(made, "shutdown", seen)
        const again = yield* TestAgent.make([ScriptedModel.text("hello")], { store: made.store })
        yield* Aborted.answers(again)
      }))

    it.effect("can be resumed at once by whoever sees the abort's end", () =>
      Effect.gen(function*() {
        const { made, phase } = yield* prepared(make)
        const run = yield* made.agent.start({ sessionId: "s", input: "go" })
        const next = yield* run.events.pipe(
          Stream.filter(RunEvent.isEnd),
          Stream.mapEffect(() => Effect.result(Stream.runDrain(made.agent.resume({ sessionId: "s" })))),
          Stream.runCollect,
          Effect.forkChild
        )
        yield* phase.reached
        yield* whileLettingGo(phase, run.abort)
        const results = yield* Fiber.join(next)
        assert.deepStrictEqual(
          results.map((result) => result._tag === "Success" ? "resumed" : result.failure.message),
          ["resumed"]
        )
      }))

    it.effect("takes the next message at once from whoever sees the abort's end", () =>
      Effect.gen(function*() {
        const { made, phase } = yield* prepared(make)
        const run = yield* made.agent.start({ sessionId: "s", input: "go" })
        const next = yield* run.events.pipe(
          Stream.filter(RunEvent.isEnd),
          Stream.mapEffect(() => made.agent.run({ sessionId: "s", input: "hello?" })),
          Stream.runCollect,
          Effect.forkChild
        )
        yield* phase.reached
        yield* whileLettingGo(phase, run.abort)
        const results = yield* Fiber.join(next)
        assert.deepStrictEqual(results.map((result) => result._tag), ["Completed"])
      }))
  })
}
