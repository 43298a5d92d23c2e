/**
 * An agent whose calls are worked on by further runs of it, as deep as a plan says: the input of a run is its plan.
 * Each turn starts the runs that the plan lists for it, and after the last turn the model says "done".
 */
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Agent from "../../src/Agent.ts"
import * as ContextWindow from "../../src/layers/ContextWindow.ts"
import * as RunsLocal from "../../src/layers/RunsLocal.ts"
import * as ToolExecutorToolkit from "../../src/layers/ToolExecutorToolkit.ts"
import * as Message from "../../src/run/Message.ts"
import * as RunEvent from "../../src/run/RunEvent.ts"
import type * as RunPolicy from "../../src/run/RunPolicy.ts"
import * as Usage from "../../src/run/Usage.ts"
import type * as ContextManager from "../../src/services/ContextManager.ts"
import type * as Model from "../../src/services/Model.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"
import { ToolCall } from "../../src/services/ToolCall.ts"
import * as SessionLines from "../../src/SessionLines.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as RunLog from "./RunLog.ts"
import * as TestStore from "./TestStore.ts"

/** What a run does: by turn, the runs that work for its calls. */
export interface Plan {
  readonly turns?: ReadonlyArray<ReadonlyArray<Plan>>
  readonly limits?: RunPolicy.LimitsInput
  /** the tool it is asked for with; `order` declares nothing, the others are idempotent; `buy` needs a person's yes */
  readonly by?: "ask" | "order" | "buy"
  /** the input tokens of each model call; 5 more come out */
  readonly input?: number
  /** what its model does in place of its first turn */
  readonly first?: string
}

const options = {
  parameters: Schema.Struct({ plan: Schema.String }),
  success: Schema.String,
  failure: Schema.String,
  dependencies: [ToolCall]
}

export const kit = Toolkit.make(
  Tool.make("ask", options).annotate(Tool.Idempotent, true),
  Tool.make("order", options),
  Tool.make("buy", options).annotate(Tool.Idempotent, true).setNeedsApproval(true)
)

export const planOf = ({ messages }: Model.ModelRequest): Plan => {
  const last = messages.findLast(({ role }) => role === "user")
  const text = Message.textOf(last?.content as ReadonlyArray<Message.UserPart>)
  // a message after one without an answer becomes part of the same message
  return text.endsWith("}") ? JSON.parse(text) as Plan : {}
}

/** What the plan in a request says; a test may say more about its `first` turns. */
export const answer = (request: Model.ModelRequest): ReadonlyArray<ScriptedModel.Step> => {
  const { input = 10, turns = [] } = planOf(request)
  const plans = turns[request.metadata.turn - 1]
  const usage: Usage.Usage = { inputTokens: input, outputTokens: 5 }
  if (plans === undefined) return [ScriptedModel.text("done"), ScriptedModel.finish("stop", usage)]
  const calls = plans.map((plan, at) => ScriptedModel.call(plan.by ?? "ask", { plan: JSON.stringify(plan) }, `${at}`))
  return [...calls, ScriptedModel.finish("tool-calls", usage)]
}

export type Client = Agent.Client<string>
export type Handler = (
  client: Client,
  plan: Plan,
  call: ToolCall["Service"]
) => Effect.Effect<string, { readonly message: string }>

/** As the documentation shows it. */
export const run: Handler = (client, plan, call) =>
  ToolCall.runAgent(client, { input: JSON.stringify(plan), limits: plan.limits ?? {} }).pipe(
    Effect.mapError((message) => ({ message })),
    Effect.provideService(ToolCall, call)
  )

export interface Options {
  readonly store?: TestStore.TestStore
  readonly handler?: Handler
  readonly context?: Layer.Layer<ContextManager.ContextManager>
  readonly answer?: (request: Model.ModelRequest) => ReadonlyArray<ScriptedModel.Step>
  readonly agent?: Partial<Agent.Options<typeof kit.tools, string>>
  /** instead of the scripted model */
  readonly model?: Layer.Layer<Model.Model | ScriptedModel.Script>
}

/** The handlers of an agent that is created with them. */
const handlers = (handler: Handler, client: Effect.Effect<Client>) => {
  const work = ({ plan }: { readonly plan: string }) =>
    Effect.gen(function*() {
      const agent = yield* client
      return yield* Effect.mapError(handler(agent, JSON.parse(plan) as Plan, yield* ToolCall), ({ message }) => message)
    })
  return kit.toLayer({ ask: work, order: work, buy: work })
}

/** The agent, over whatever store and executor there are; its model remembers what it was asked. */
export const agentOf = (given: Omit<Options, "store"> = {}) => {
  class Member extends Agent.Service<Member>()("test/Member", {
    instructions: "Be brief.",
    toolkit: kit,
    toolPolicy: { maxParallel: 4 },
    ...given.agent
  }) {}
  const made = Deferred.makeUnsafe<Client>()
  const below = Layer.mergeAll(
    given.model ?? ScriptedModel.layer(given.answer ?? answer),
    given.context ?? ContextWindow.layer,
    RunsLocal.layer,
    handlers(given.handler ?? run, Deferred.await(made))
  )
  const known = Effect.tap(Member, (agent) => Deferred.succeed(made, agent))
  return { agent: known, layer: Layer.provideMerge(Member.layer, below) }
}

export const make = Effect.fnUntraced(function*(given: Options = {}) {
  const scope = yield* Scope.make()
  yield* Effect.addFinalizer((exit) => Scope.close(scope, exit))
  const store = given.store ?? (yield* TestStore.make())
  const member = agentOf(given)
  const below = Layer.merge(store.layer, ToolExecutorToolkit.layer)
  const context = yield* Layer.buildWithScope(Layer.provideMerge(member.layer, below), scope)
  const agent = yield* Effect.provideContext(member.agent, context)
  return {
    agent,
    store,
    services: context,
    requests: Effect.map(Context.get(context, ScriptedModel.Script).requests, (requests) => requests.length),
    logs: logsOf(store.service),
    root: (plan: Plan) => agent.run({ runId: "root", input: JSON.stringify(plan), limits: plan.limits ?? {} })
  }
})

/** What a process that dies now leaves: a store with the contents of this one. */
export const leftBy = Effect.fnUntraced(function*(store: TestStore.TestStore) {
  const left = yield* TestStore.make()
  for (const { sessionId } of yield* store.service.list()) {
    const lines = yield* Stream.runCollect(SessionLines.toLines(sessionId)).pipe(Effect.provide(store.layer))
    yield* SessionLines.fromLines(Stream.fromIterable(lines)).pipe(
      Effect.provideService(SessionStore.SessionStore, left.service)
    )
  }
  return left
})

type Log = ReadonlyArray<RunEvent.Durable>

/** Every session in a store, by id. */
export const logsOf = (store: SessionStore.Store) =>
  Effect.gen(function*() {
    const logs = new Map<string, Log>()
    for (const { sessionId } of yield* store.list()) {
      logs.set(sessionId, yield* Stream.runCollect(store.read(sessionId)))
    }
    return logs
  })

/** What the last end of a run reports, and the calls settled after it: those that a dead drive left. */
export const totalOf = (log: Log): Usage.Usage => {
  const end = log.findLast(RunEvent.isEnd)
  return RunLog.only(log, "ToolSettled").reduce(
    (sum, { seq, usage }) => usage !== undefined && seq > (end?.seq ?? 0) ? Usage.add(sum, usage) : sum,
    end?.totals.usage ?? Usage.zero
  )
}

/** What models reported spending in a log, calls aside. */
export const ownOf = (log: Log): Usage.Usage =>
  log.reduce((sum, event) => {
    const isOwn = "usage" in event && event._tag !== "TurnFinished" && event._tag !== "ToolSettled"
    return isOwn ? Usage.add(sum, event.usage) : sum
  }, Usage.zero)

/** The runs in logs, each with its own events. */
const runsOf = (logs: ReadonlyMap<string, Log>) =>
  Array.from(logs).flatMap(([sessionId, log]) =>
    RunLog.only(log, "RunStarted").map(({ parent, runId }) => ({
      sessionId,
      runId,
      parent,
      log: log.filter((event) => event.runId === runId)
    }))
  )

type Runs = ReturnType<typeof runsOf>

/** `counts`: whether what was spent below a call is included. */
const spentBy = (
  runs: Runs,
  { log, runId, sessionId }: Runs[number],
  counts: (callId: string) => boolean = () => true
): Usage.Usage =>
  runs
    .filter(({ parent }) => parent?.sessionId === sessionId && parent.runId === runId && counts(parent.callId))
    .reduce((sum, other) => Usage.add(sum, spentBy(runs, other)), ownOf(log))

/** What a waiting call spent is reported once it has its outcome. */
const isTold = (log: Log) => {
  const isSuspended = log.findLast(RunEvent.isEnd)?._tag === "RunSuspended"
  const settled = RunLog.only(log, "ToolSettled").map(({ callId }) => callId)
  return (callId: string): boolean => !isSuspended || settled.includes(callId)
}

/** What is wrong with logs: a rule is broken, or a run's total is not its own plus those of the runs working for it. */
export const violations = (logs: ReadonlyMap<string, Log>, mayBeOpen = false): ReadonlyArray<string> => {
  const runs = runsOf(logs)
  const broken = Array.from(logs).flatMap(([sessionId, log]) =>
    RunLog.violations(log, mayBeOpen).map((what) => `${sessionId}: ${what}`)
  )
  return broken.concat(runs.flatMap((run) => {
    if (!run.log.some(RunEvent.isEnd)) return []
    const [told, spent] = [totalOf(run.log), spentBy(runs, run, isTold(run.log))]
    const isRight = Usage.total(told) === Usage.total(spent) && told.cost === spent.cost
    return isRight ? [] : [`${run.sessionId}: spent ${JSON.stringify(spent)}, told ${JSON.stringify(told)}`]
  }))
}
