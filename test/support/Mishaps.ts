/**
 * An agent in which everything may go wrong: its model, tools, hooks, rules, approver and compaction take their time,
 * fail, die, never return, or cannot be interrupted, as the dice say.
 *
 * Does not own what is done with it (`Programs`).
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Schema from "effect/Schema"
import type * as Agent from "../../src/Agent.ts"
import * as ContextChain from "../../src/layers/ContextChain.ts"
import * as ContextKeyFacts from "../../src/layers/ContextKeyFacts.ts"
import * as ContextSummary from "../../src/layers/ContextSummary.ts"
import * as ContextWindow from "../../src/layers/ContextWindow.ts"
import * as ModelFallback from "../../src/layers/ModelFallback.ts"
import * as Approver from "../../src/services/Approver.ts"
import { CompactionError, ContextManager } from "../../src/services/ContextManager.ts"
import type { Hook } from "../../src/services/Hooks.ts"
import * as RetryPolicy from "../../src/services/RetryPolicy.ts"
import { ToolCall } from "../../src/services/ToolCall.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Approvals from "./Approvals.ts"
import type * as Odd from "./Odd.ts"
import * as Overflows from "./Overflows.ts"
import * as Overloaded from "./Overloaded.ts"
import * as TestAgent from "./TestAgent.ts"
import type * as TestStore from "./TestStore.ts"

const { call, delay, finish, text } = ScriptedModel
type Dice = Odd.Dice

/** Something that takes its time, or cannot be interrupted, or never returns. */
const slow = (die: Dice): Effect.Effect<void> =>
  die.pick<() => Effect.Effect<void>>([
    ...Array.from({ length: 6 }, () => () => Effect.void),
    () => Effect.yieldNow,
    () => Effect.sleep(die.pick(["1 milli", "1 second", "30 seconds", "5 minutes"])),
    () => Effect.uninterruptible(Effect.sleep(die.pick(["1 second", "20 seconds"]))),
    () => Effect.never
  ])()

const turn = (die: Dice): ScriptedModel.Turn => {
  const calls = () =>
    Array.from({ length: 1 + die.int(3) }, (_, i) =>
      call(
        die.pick(["work", "work", "work", "work", "look", "again", "again", "unknown"]),
        die.pick<Schema.Json>([{ n: 1 }, { n: 2 }, { n: die.int(50) }, { n: die.int(50) }, { n: i }, { m: 1 }, "{"]),
        die.pick(["a", "b", `c${i}`])
      ))
  return die.pick<() => ReadonlyArray<ScriptedModel.Step>>([
    () => [text("an answer")],
    () => [text("")],
    ...Array.from({ length: 20 }, () => calls),
    () => [delay(die.pick(["1 second", "1 minute", "5 minutes"])), ...calls()],
    () => [delay("10 seconds"), text("late")],
    () => [text("par"), ScriptedModel.cut],
    () => [text("par"), Overloaded.fail(die.pick([undefined, 30_000]))],
    () => [Overloaded.fail()],
    () => [Overflows.overflow],
    () => [Overflows.refused],
    () => [ScriptedModel.die(new Error("bug"))],
    () => [...calls(), finish("length")],
    () => [text("half"), finish("length")],
    () => [text("no"), finish("content-filter")],
    () => [text("no"), finish("error")]
  ])()
}

const fails = Effect.fail("no")
const handle = (die: Dice): Effect.Effect<string, string> =>
  Effect.andThen(
    die.chance(0.5) ? slow(die) : Effect.sleep("20 seconds"),
    die.pick<Effect.Effect<string, string>>([
      Effect.succeed("ok"),
      Effect.succeed("ok"),
      fails,
      Effect.die(new Error("bug")),
      Effect.interrupt
    ])
  )

const hooksOf = (die: Dice): ReadonlyArray<Hook> =>
  die.chance(0.5) ? [] : [{
    name: "h",
    kind: die.pick(["guard", "guard", "observer"]),
    beforeModelCall: () => slow(die),
    afterModelCall: () => die.chance(0.9) ? Effect.void : slow(die),
    beforeToolCall: () =>
      Effect.andThen(
        die.chance(0.6) ? Effect.void : slow(die),
        die.pick([
          Effect.void,
          Effect.void,
          Effect.succeed({ _tag: "Change", params: { n: 9 } } as const),
          Effect.succeed({ _tag: "Deny", reason: "no" } as const),
          Effect.succeed({ _tag: "Answer", result: "by a hook" } as const),
          die.chance(0.2) ? Effect.fail("no") : Effect.void
        ])
      ),
    afterToolCall: () => die.chance(0.8) ? Effect.void : slow(die)
  }]

const answer = (die: Dice): Approver.Answer | undefined =>
  die.pick<Approver.Answer | undefined>([
    undefined,
    undefined,
    Approvals.yes,
    { approved: true, params: { n: 7 } },
    { approved: true, params: { wrong: 1 } },
    Approvals.no("not now")
  ])

const lawless = (die: Dice): Layer.Layer<ContextManager> =>
  Layer.succeed(ContextManager, {
    plan: (request) => request.force === undefined ? { _tag: "Send" } : { _tag: "Compact", request },
    compact: ({ ledger }) =>
      Effect.gen(function*() {
        yield* slow(die)
        ledger.note({ inputTokens: 1, outputTokens: 1 }, { provider: "test", name: "condenser" })
        yield* slow(die)
        if (die.chance(0.3)) return yield* Effect.die(new Error("bug"))
        if (die.chance(0.3)) return yield* new CompactionError({ message: "no" })
        return { strategy: "all", upTo: 1e6, replacement: [], usage: { inputTokens: 1, outputTokens: 1 } }
      })
  })

const modelOf = (die: Dice, name: string) =>
  ScriptedModel.layer(() => turn(die), {
    info: { provider: "test", name, ...(die.chance(0.3) ? { contextWindow: 400 } : {}) }
  })

const condensed = (die: Dice): Layer.Layer<ContextManager> =>
  Layer.provide(
    die.pick([ContextSummary.layerWith, ContextKeyFacts.layerWith])({ compactThreshold: 6, budget: 5 }),
    die.chance(0.5)
      ? ScriptedModel.layer(() => die.chance(0.5) ? turn(die) : text("They talked."))
      : ScriptedModel.layer(() => [delay(die.pick(["1 second", "50 seconds"])), Overloaded.fail()])
  )

const rulesOf = (die: Dice): Partial<Agent.Options<typeof TestAgent.kit.tools, string>> => ({
  hooks: hooksOf(die),
  ...(die.chance(0.2) ? { stopWhen: () => die.chance(0.3) } : {}),
  ...(die.chance(0.3) ? { stopBefore: () => Effect.as(slow(die), die.chance(0.2)) } : {}),
  ...(die.chance(0.7) ? {} : {
    prepareTurn: () =>
      Effect.andThen(
        slow(die),
        die.pick([
          Effect.void,
          Effect.succeed({ tools: ["look" as const] }),
          Effect.succeed({ instructions: "other" }),
          Effect.fail("no")
        ])
      )
  })
})

/** Is told of every call that runs, before it does. */
export type OnCall = (call: typeof ToolCall.Service) => Effect.Effect<void>

/** An agent over this store. */
export const make = (die: Dice, store: TestStore.TestStore, onCall: OnCall) => {
  const sometimes = <A extends object>(chance: number, options: () => A) => die.chance(chance) ? options() : {}
  const needsApproval = die.pick([false, false, true, () => Effect.as(slow(die), die.chance(0.5))])
  const window = ContextWindow.layerWith({ compactThreshold: 6 })
  const made = TestAgent.make(() => turn(die), {
    store,
    context: die.pick([
      ContextWindow.layer,
      window,
      lawless(die),
      condensed(die),
      ContextChain.layer(lawless(die), window),
      ContextChain.layer(condensed(die), window)
    ]),
    ...sometimes(0.5, () => ({ model: ModelFallback.layer([modelOf(die, "a"), modelOf(die, "b")]) })),
    agent: {
      ...rulesOf(die),
      toolkit: Approvals.withWork(TestAgent.kit.tools.work.setNeedsApproval(needsApproval)),
      toolPolicy: {
        maxParallel: die.pick([1, 2, 3]),
        continueOnError: die.chance(0.7),
        ...sometimes(0.3, () => ({ approvalTimeout: 60_000 })),
        ...sometimes(0.3, () => ({ maxCallsPerRun: { work: 3 } })),
        ...sometimes(0.3, () => ({ requireApprovalByDefault: true }))
      },
      limits: {
        maxTurns: die.pick([2, 5, 20]),
        maxErrors: die.pick([0, 3, 20, 20, 20]),
        ...sometimes(0.2, () => ({ maxToolCalls: 3 })),
        ...sometimes(0.2, () => ({ maxTokens: 60 })),
        ...sometimes(0.2, () => ({ maxDuration: "2 minutes" as const }))
      },
      ...sometimes(0.3, () => ({ timeouts: { tool: "10 seconds", call: "30 seconds" } as const })),
      retry: RetryPolicy.make({ base: die.pick(["0 millis", "1 second"]), maxRetries: 2 })
    },
    tool: () => Effect.flatMap(ToolCall, (call) => Effect.andThen(onCall(call), handle(die)))
  })
  return Effect.provideService(made, Approver.Approver, { ask: () => Effect.as(slow(die), answer(die)) })
}
