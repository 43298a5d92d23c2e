/**
 * The agents that the sweeps kill: every kind of run that there is, with tools whose effects are lines of a file that
 * outlives them.
 */
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { appendFileSync, existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import * as Agent from "../../src/Agent.ts"
import * as ContextWindow from "../../src/layers/ContextWindow.ts"
import * as ModelFallback from "../../src/layers/ModelFallback.ts"
import * as RunsLocal from "../../src/layers/RunsLocal.ts"
import * as Message from "../../src/run/Message.ts"
import * as RunError from "../../src/run/RunError.ts"
import type { Hook } from "../../src/services/Hooks.ts"
import type * as Model from "../../src/services/Model.ts"
import * as Reconciler from "../../src/services/Reconciler.ts"
import * as RetryPolicy from "../../src/services/RetryPolicy.ts"
import type * as SessionStore from "../../src/services/SessionStore.ts"
import { ToolCall } from "../../src/services/ToolCall.ts"
import * as CrashSweep from "../../src/testing/CrashSweep.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Overloaded from "../support/Overloaded.ts"
import * as CompactionScenarios from "./CompactionScenarios.ts"
import * as Plays from "./Plays.ts"
import { call, type Scenario } from "./Scenario.ts"

const options = {
  parameters: Schema.Struct({ n: Schema.Finite }),
  success: Schema.String,
  failure: Schema.String,
  dependencies: [ToolCall]
}

/** `pay` and `refund`, which asks first, declare nothing; `settle` has a reconciler; the others may run again. */
const kit = Toolkit.make(
  Tool.make("pay", options),
  Tool.make("refund", { ...options, needsApproval: true }),
  Tool.make("settle", options),
  Tool.make("look", options).annotate(Tool.Readonly, true),
  Tool.make("put", options).annotate(Tool.Idempotent, true)
)

const ledgerOf = (folder: string) => join(folder, "ledger")

const linesOf = (folder: string): ReadonlyArray<string> =>
  existsSync(ledgerOf(folder)) ? readFileSync(ledgerOf(folder), "utf8").trim().split("\n") : []

/** Acts by writing a line; then a negative number fails, and one above 100 returns that many characters. */
const act = (folder: string, tool: string) => ({ n }: { readonly n: number }) =>
  Effect.gen(function*() {
    const { idempotencyKey } = yield* ToolCall
    appendFileSync(ledgerOf(folder), `${tool} ${idempotencyKey}\n`)
    return n < 0 ? yield* Effect.fail(`${n} is too little`) : `${tool} ${n}`.padEnd(n > 100 ? n : 0, " and so on")
  })

/** Knows of `settle`, from the ledger. */
const reconciler = (folder: string): Reconciler.Reconciler => ({
  reconcile: ({ idempotencyKey, tool }) =>
    Effect.sync(() =>
      tool !== "settle"
        ? { _tag: "Unknown" }
        : linesOf(folder).includes(`settle ${idempotencyKey}`)
        ? { _tag: "Done", result: "settled" }
        : { _tag: "NotDone" }
    )
})

const refused = ScriptedModel.fail(
  new RunError.NonRetryableError<RunError.ProviderRefusal>({ _tag: "Authentication", message: "no" })
)

/** Doubles every `n`, answers one kind of call, denies another one, and takes what a tool said out of every outcome. */
const hooks: ReadonlyArray<Hook> = [
  {
    name: "rule",
    beforeToolCall: ({ params, tool }) => {
      const { n } = params as { readonly n: number }
      if (n === 8) return Effect.succeed({ _tag: "Answer", result: "known" })
      if (n === 9) return Effect.succeed({ _tag: "Deny", reason: "never" })
      return Effect.succeed({ _tag: "Change", params: { n: tool === "look" ? n : n * 2 } })
    }
  },
  {
    name: "masker",
    beforeModelCall: ({ messages }) =>
      Effect.succeed({ messages: [{ role: "system", content: "Mind the rules." }, ...messages] }),
    afterModelCall: () => Effect.yieldNow,
    afterToolCall: ({ outcome }) =>
      Effect.succeed({ outcome: "result" in outcome ? { ...outcome, result: "masked" } : outcome })
  }
]

/** Leaves even numbers as they are. */
const even: Hook = {
  name: "even",
  beforeToolCall: ({ params }) => {
    const { n } = params as { readonly n: number }
    return Effect.succeed({ _tag: "Change", params: { n: n + n % 2 } })
  }
}

/** Calls of every kind, one of which has its outcome when the store is lost. */
const cutInRound = {
  turns: [[call("pay"), call("look"), call("put"), call("settle"), call("pay", -1)]],
  policy: { maxParallel: 5 }
}

const scenarios: Readonly<Record<string, Scenario>> = {
  "text only": { turns: [] },
  "an undeclared tool": { turns: [call("pay")] },
  "a failing tool": { turns: [call("pay", -1)] },
  "a read-only tool": { turns: [call("look")] },
  "an idempotent tool": { turns: [call("put")] },
  "a reconciled tool": { turns: [call("settle")] },
  "tools one by one": { turns: [[call("pay"), call("put"), call("settle")], call("pay")] },
  "tools in parallel": {
    turns: [[call("pay"), call("look"), call("put"), call("settle"), call("pay", -1)]],
    policy: { maxParallel: 5 }
  },
  "an answer that is tried again": { turns: [call("pay")], isBusy: true },
  "hooks around calls one by one": { turns: [[call("pay"), call("put"), call("settle"), call("pay", 8)]], hooks },
  "hooks around calls in parallel": {
    turns: [[call("pay"), call("look", 9), call("put"), call("settle"), call("pay", -1), call("look", 8)]],
    policy: { maxParallel: 6 },
    hooks
  },
  "a model that takes over from another": { turns: [call("pay"), call("put")], isDown: true },
  "an abort in a tool round": { turns: [[call("pay"), call("put")]], abortsAt: "ToolStarted" },
  "an abort in an answer": { turns: [], abortsAt: "TextDelta" },
  "approvals from elsewhere": {
    turns: [[call("refund"), call("put"), call("refund", 2)]],
    answers: [
      { callId: "1.2", approved: true, params: { n: 3 } },
      { callId: "1.0", approved: false, reason: "too dear" }
    ]
  },
  "results that a person gives": {
    turns: [[call("refund"), call("put"), call("refund", 2)]],
    answers: [{ callId: "1.2", approved: true, result: "by hand" }, { callId: "1.0", approved: true }]
  },
  "results that a person gives, which a hook masks": {
    turns: [[call("refund"), call("put"), call("refund", 2)]],
    policy: { maxParallel: 3 },
    hooks,
    answers: [{ callId: "1.0", approved: true, result: "by hand" }, { callId: "1.2", approved: true, result: "4111" }]
  },
  "approvals with edited arguments, which a hook changes": {
    turns: [[call("refund"), call("put")]],
    hooks: [even],
    answers: [{ callId: "1.0", approved: true, params: { n: 3 } }, { callId: "1.0", approved: true }]
  },
  "limits reached in parallel rounds": {
    turns: [
      [call("pay"), call("look"), call("put"), call("settle"), call("pay", -1)],
      [call("put", 2), call("pay", 2), call("settle", 2)]
    ],
    policy: { maxParallel: 3 },
    limits: [{ maxToolCalls: 3 }, { maxToolCalls: 5 }]
  },
  "a run that is steered and followed up": {
    turns: [call("pay"), call("put")],
    says: { TurnStarted: "followUp", ToolStarted: "steer" }
  },
  "a resumed run": { ...cutInRound, cut: { at: 6, goOn: "resume" } },
  "a message to a run that was cut short": { ...cutInRound, cut: { at: 6, goOn: "hello" } },
  ...CompactionScenarios.all
}

const isHello = ({ messages }: Model.ModelRequest): boolean => {
  const last = messages.findLast(({ role }) => role === "user")
  return last !== undefined && Message.textOf(last.content as ReadonlyArray<Message.UserPart>).endsWith("hello")
}

const model = ({ isBusy = false, takes = Infinity, turns }: Scenario) =>
(
  request: Model.ModelRequest
): ScriptedModel.Turn => {
  if (isHello(request)) return ScriptedModel.text("hello!")
  if (CompactionScenarios.textOf(request).length > takes) return CompactionScenarios.overflow
  const { attempt, turn } = request.metadata
  return isBusy && attempt === 1
    ? [ScriptedModel.text("half"), call("pay"), Overloaded.fail()]
    : turns[turn - 1] ?? ScriptedModel.text("done")
}

/** The model of a scenario, behind one that is down if the scenario says so. */
const models = (scenario: Scenario): Layer.Layer<Model.Model> => {
  const { contextWindow } = scenario
  const info = { provider: "scripted", name: "scripted" }
  const answering = ScriptedModel.layer(model(scenario), {
    info: contextWindow === undefined ? info : { ...info, contextWindow }
  })
  if (scenario.isDown !== true) return answering
  const isDown = (request: Model.ModelRequest) => isHello(request) ? ScriptedModel.text("hello!") : refused
  return ModelFallback.layer([
    ScriptedModel.layer(isDown, { info: { provider: "down", name: "down" } }),
    answering
  ])
}

/** Every scenario on one store. */
export const make = <E>(
  storeOf: (place: CrashSweep.Place) => Layer.Layer<SessionStore.SessionStore, E>
): CrashSweep.Subjects =>
  Object.fromEntries(
    Object.entries(scenarios).map(([name, scenario]) => [name, (place: CrashSweep.Place) => {
      const { folder, sessionId } = place
      class Swept extends Agent.Service<Swept>()("test/Swept", {
        instructions: scenario.instructions ?? "Be brief.",
        toolkit: kit,
        toolPolicy: scenario.policy ?? {},
        hooks: scenario.hooks ?? [],
        retry: RetryPolicy.make({ base: 0 })
      }) {}
      const handlers = kit.toLayer({
        pay: act(folder, "pay"),
        refund: act(folder, "refund"),
        settle: act(folder, "settle"),
        look: act(folder, "look"),
        put: act(folder, "put")
      })
      const { abortsAt, answers, compacts, context, cut, fails, history, limits, says } = scenario
      const input = {
        sessionId,
        runId: "r",
        input: scenario.input ?? "go",
        ...(history === undefined ? {} : { history }),
        ...(limits === undefined ? {} : { limits: limits[0] })
      }
      const options = {
        agent: Swept,
        layer: Swept.layer.pipe(
          Layer.provide([handlers, models(scenario), context ?? ContextWindow.layer, RunsLocal.layer]),
          Layer.provide(Layer.succeed(Reconciler.Reconciler, reconciler(folder)))
        ),
        store: storeOf(place),
        input,
        effects: Effect.sync(() =>
          linesOf(folder).map((line) => {
            const [tool = "", key = ""] = line.split(" ")
            return { key, mayRepeat: tool === "look" || tool === "put" }
          })
        )
      }
      return CrashSweep.subject({
        ...options,
        ...(fails === undefined ? {} : { fails }),
        ...(compacts === undefined ? {} : { play: Plays.compacted(input) }),
        ...(abortsAt === undefined ? {} : { play: Plays.abortAt(abortsAt, input) }),
        ...(answers === undefined ? {} : { play: Plays.answered(answers, input) }),
        ...(limits === undefined ? {} : { play: Plays.resumed(limits[1], input) }),
        ...(says === undefined ? {} : { play: Plays.sayAt(says, input) }),
        ...(cut === undefined ? {} : { play: Plays.goOnFrom(CrashSweep.subject(options), sessionId, cut) })
      })
    }])
  )
