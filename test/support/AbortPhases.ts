/** The phases in which a run can be aborted. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as RunEvent from "../../src/run/RunEvent.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as AbortPhase from "./AbortPhase.ts"
import * as Holdings from "./Holdings.ts"
import * as Overloaded from "./Overloaded.ts"
import * as TestAgent from "./TestAgent.ts"
import * as TestStore from "./TestStore.ts"

const interruptible: AbortPhase.Kind["manners"] = ["cooperative", "finalizing", "stuck"]
const ofStore: AbortPhase.Kind["manners"] = ["slow", "stuck"]

export const kinds: Record<string, AbortPhase.Kind> = {
  "opening the session": {
    isEarly: true,
    manners: interruptible,
    make: (obstacle) =>
      Effect.map(
        AbortPhase.opening(obstacle),
        (store) => ({ ...AbortPhase.plain, turns: [], options: { store }, comesTo: "refused" })
      )
  },
  "recovering from a run that died, at the reconciler": {
    isEarly: true,
    manners: interruptible,
    make: AbortPhase.reconciling(true, {})
  },
  "settling for a new message what a dead run left, at the reconciler": {
    isEarly: true,
    manners: interruptible,
    make: AbortPhase.reconciling(false, {})
  },
  "resuming a run that died, at the reconciler": {
    manners: interruptible,
    make: AbortPhase.reconciling(false, {
      runId: "dead",
      begins: "resume",
      comesTo: "aborted",
      named: ["reconciler of work"]
    })
  },
  "the first append": {
    isEarly: true,
    manners: ofStore,
    make: AbortPhase.holding((event) => event._tag === "RunStarted", [])
  },
  "compacting": {
    manners: interruptible,
    make: (obstacle) =>
      Effect.succeed({
        ...AbortPhase.plain,
        turns: [],
        options: { context: AbortPhase.shrinking(obstacle) },
        named: ["compaction"]
      })
  },
  "calling the model": {
    manners: interruptible,
    make: (obstacle) =>
      Effect.map(
        AbortPhase.gateOf(obstacle),
        (gate) => ({ ...AbortPhase.plain, turns: [[gate]], named: ["model scripted"] })
      )
  },
  "streaming": {
    manners: interruptible,
    make: (obstacle) =>
      Effect.map(AbortPhase.gateOf(obstacle), (gate) => ({
        ...AbortPhase.plain,
        turns: [[ScriptedModel.text("partial "), gate]],
        named: ["model scripted"]
      }))
  },
  "waiting for the next attempt": {
    manners: ["cooperative"],
    make: () =>
      Effect.gen(function*() {
        const seen = yield* Deferred.make<void>()
        const store = yield* TestStore.make(({ events, store }) =>
          events.some(({ _tag }) => _tag === "AttemptDiscarded")
            ? Effect.tap(store, () => Deferred.succeed(seen, undefined))
            : store
        )
        const turns = [Overloaded.fail()]
        return { ...AbortPhase.plain, turns, options: { store }, reached: Deferred.await(seen) }
      })
  },
  "asking a tool's rule": {
    manners: interruptible,
    make: (obstacle) =>
      Effect.succeed({
        ...AbortPhase.plain,
        turns: [TestAgent.work(1)],
        options: { agent: { toolkit: AbortPhase.ruled(obstacle) as never } },
        named: ["rule of work"]
      })
  },
  "a tool": { manners: interruptible, make: AbortPhase.tool({ turns: [AbortPhase.twoCalls] }) },
  "tools in parallel": {
    manners: interruptible,
    all: 2,
    make: AbortPhase.tool({ turns: [AbortPhase.twoCalls], named: ["work", "work"] }, AbortPhase.inParallel)
  },
  "a tool that tells of its progress, with a reader that does not read": {
    manners: interruptible,
    make: (obstacle) =>
      AbortPhase.tool({ turns: [TestAgent.work(1)], hasStuckReader: true }, { tool: AbortPhase.telling(obstacle) })(
        obstacle
      )
  },
  "a tool that has a server, a connection and a timer": {
    manners: interruptible,
    make: (obstacle) =>
      AbortPhase.tool({ turns: [TestAgent.work(1)] }, {
        tool: () => Effect.scoped(Effect.as(Effect.andThen(Holdings.hold, obstacle.wait), "done after all"))
      })(obstacle)
  },
  "asking stopWhen": {
    manners: interruptible,
    make: (obstacle) =>
      Effect.succeed({
        ...AbortPhase.plain,
        turns: [ScriptedModel.text("done")],
        options: { agent: { stopWhen: AbortPhase.once(Effect.as(obstacle.wait, false), false) } },
        named: ["stopWhen"]
      })
  },
  "asking stopBefore": {
    manners: interruptible,
    make: (obstacle) =>
      Effect.succeed({
        ...AbortPhase.plain,
        turns: [TestAgent.work(1)],
        options: { agent: { stopBefore: () => Effect.as(obstacle.wait, false) } },
        named: ["stopBefore"]
      })
  },
  "preparing a turn": {
    manners: interruptible,
    make: (obstacle) =>
      Effect.succeed({
        ...AbortPhase.plain,
        turns: [],
        options: { agent: { prepareTurn: AbortPhase.once(Effect.as(obstacle.wait, undefined), undefined) } },
        named: ["prepareTurn"]
      })
  },
  "waiting for an approver": {
    manners: interruptible,
    make: (obstacle) =>
      Effect.succeed({
        ...AbortPhase.plain,
        turns: [TestAgent.work(1)],
        options: { agent: { toolPolicy: { requireApprovalByDefault: true } } },
        around: AbortPhase.asking(obstacle),
        named: ["approval of work"]
      })
  },
  "waiting for an approver, and decided about from elsewhere meanwhile": {
    manners: interruptible,
    make: (obstacle) =>
      Effect.succeed({
        ...AbortPhase.plain,
        turns: [TestAgent.work(1)],
        options: { agent: { toolPolicy: { requireApprovalByDefault: true } } },
        around: AbortPhase.asking(obstacle),
        named: ["approval of work"],
        decides: "r/1.0"
      })
  },
  "at a hook before a model call": {
    manners: interruptible,
    make: AbortPhase.hooked("beforeModelCall", { turns: [] })
  },
  "at a hook after a model call": {
    manners: interruptible,
    make: AbortPhase.hooked("afterModelCall", { turns: [AbortPhase.twoCalls] })
  },
  "at a hook before a tool call": {
    manners: interruptible,
    make: AbortPhase.hooked("beforeToolCall", { turns: [AbortPhase.twoCalls] })
  },
  "at the hooks before parallel tool calls": {
    manners: interruptible,
    all: 2,
    make: AbortPhase.hooked("beforeToolCall", {
      turns: [AbortPhase.twoCalls],
      named: ["hook slow", "hook slow"]
    }, AbortPhase.inParallel.agent)
  },
  "at a hook after a tool call": {
    manners: interruptible,
    make: AbortPhase.hooked("afterToolCall", { turns: [AbortPhase.twoCalls] })
  },
  "storing an intent": {
    manners: ofStore,
    make: AbortPhase.holding((event) => event._tag === "ToolStarted", [TestAgent.work(1)])
  },
  "storing an outcome": {
    manners: ofStore,
    make: AbortPhase.holding(
      (event) => event._tag === "ToolSettled",
      [AbortPhase.twoCalls],
      AbortPhase.inParallel.agent
    )
  },
  "storing the end": {
    manners: ofStore,
    make: (obstacle) =>
      Effect.map(AbortPhase.holding(RunEvent.isEnd, [ScriptedModel.text("done")])(obstacle), (phase) => ({
        ...phase,
        comesTo: "completed"
      }))
  }
}
