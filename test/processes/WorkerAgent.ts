/**
 * An agent over the SQLite sessions of a folder, for any number of processes. Its model carries out the plan that it is told: a
 * message that is JSON says what each turn after it does.
 */
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { identity } from "effect/Function"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { appendFileSync, existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import * as Agent from "../../src/Agent.ts"
import * as OwnerLiveness from "../../src/layers/OwnerLiveness.ts"
import * as RunsLocal from "../../src/layers/RunsLocal.ts"
import * as SessionStoreSqlite from "../../src/layers/SessionStoreSqlite.ts"
import * as ToolExecutorToolkit from "../../src/layers/ToolExecutorToolkit.ts"
import type * as Message from "../../src/run/Message.ts"
import * as Approver from "../../src/services/Approver.ts"
import { ContextManager } from "../../src/services/ContextManager.ts"
import * as RetryPolicy from "../../src/services/RetryPolicy.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"
import { ToolCall } from "../../src/services/ToolCall.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Overloaded from "../support/Overloaded.ts"
import * as Shrinking from "../support/Shrinking.ts"

/** `wait` names a gate that holds the handler; `plan` is what an agent below does. */
export interface Call {
  readonly tool: "pay" | "put" | "refund" | "delegate" | "hire"
  readonly n?: number
  readonly wait?: string
  readonly plan?: Plan
}

/** Each turn is calls, or a gate that holds the model before it answers, or a first attempt that is overloaded. */
export type Plan = ReadonlyArray<ReadonlyArray<Call> | { readonly gate: string } | "overloaded">

const options = {
  parameters: Schema.Struct({
    n: Schema.optionalKey(Schema.Finite),
    wait: Schema.optionalKey(Schema.String),
    plan: Schema.optionalKey(Schema.String)
  }),
  success: Schema.String,
  failure: Schema.String,
  dependencies: [ToolCall]
}

const pay = Tool.make("pay", options)
const put = Tool.make("put", options).annotate(Tool.Idempotent, true)
const refund = Tool.make("refund", { ...options, needsApproval: true })
const delegate = Tool.make("delegate", options).annotate(Tool.Idempotent, true)
/** as `delegate`, but a call that may not be made again */
const hire = Tool.make("hire", options)

const childKit = Toolkit.make(pay, put, refund)
const kit = Toolkit.make(pay, put, refund, delegate, hire)

export class Worker extends Agent.Service<Worker>()("test/Worker", {
  instructions: "Be brief.",
  toolkit: kit,
  retry: RetryPolicy.make({ base: "1 minute" })
}) {}

class Below extends Agent.Service<Below>()("test/Below", { instructions: "Be brief.", toolkit: childKit }) {}

const ledgerOf = (folder: string) => join(folder, "ledger")

/** `tool key attempt` of each handler that began. */
export const effects = (folder: string): ReadonlyArray<string> =>
  existsSync(ledgerOf(folder)) ? readFileSync(ledgerOf(folder), "utf8").trim().split("\n") : []

export interface Options {
  readonly folder: string
  /** milliseconds of a lease, which is renewed three times as often */
  readonly lease?: number
  /** an approver is asked, and never answers */
  readonly isAsked?: boolean
  /** for runs that ended with their process: looked for every so many milliseconds */
  readonly recoverEvery?: number
}

export interface World {
  /** tells the test what happens */
  readonly tell: (what: object) => void
  readonly gate: (name: string) => Deferred.Deferred<void>
}

const through = ({ gate, tell }: World, name: string) =>
  Effect.suspend(() => {
    tell({ at: "gate", name })
    return Deferred.await(gate(name))
  })

export const store = ({ folder, lease = 30_000 }: Options) =>
  SessionStoreSqlite.layer({ filename: join(folder, "sessions.db") }).pipe(
    Layer.provide(Layer.succeed(OwnerLiveness.OwnerLiveness, {
      lease: Duration.millis(lease),
      renewEvery: Duration.millis(lease / 3),
      isDead: OwnerLiveness.isDead
    }))
  )

/** `around` may change what the store does. */
export const layer = (
  options: Options,
  world: World,
  around: (store: SessionStore.Store) => SessionStore.Store = identity
) => {
  const { folder, isAsked = false, recoverEvery } = options
  const act = (tool: string) => ({ wait }: { readonly wait?: string }) =>
    Effect.gen(function*() {
      const { attempt, idempotencyKey } = yield* ToolCall
      appendFileSync(ledgerOf(folder), `${tool} ${idempotencyKey} ${attempt}\n`)
      world.tell({ at: "effect", tool, key: idempotencyKey, attempt })
      if (wait !== undefined) yield* through(world, wait)
      return `${tool} done`
    })
  const model = ScriptedModel.layer(({ messages, metadata }) => {
    const isPlan = ({ content, role }: Message.Message) => role === "user" && textOf(content).startsWith("[")
    const at = messages.findLastIndex(isPlan)
    const last = messages.findLast(({ role }) => role === "user")
    const plan: Plan = at < 0 || !isPlan(last!) ? [] : JSON.parse(textOf(messages[at]!.content))
    const turn = plan[messages.slice(at + 1).filter(({ role }) => role === "assistant").length]
    world.tell({ at: "model", sessionId: metadata.sessionId, attempt: metadata.attempt })
    if (turn === undefined) return ScriptedModel.text("done")
    if (turn === "overloaded") return metadata.attempt === 1 ? Overloaded.fail() : ScriptedModel.text("done")
    if ("gate" in turn) {
      const wait = through(world, turn.gate)
      return [
        ScriptedModel.text("half "),
        ScriptedModel.gate({
          wait,
          close: Effect.void,
          started: Effect.void,
          release: Effect.void,
          closed: Effect.void
        }),
        ScriptedModel.text("done")
      ]
    }
    return turn.map(({ n = 1, plan, tool, wait }) =>
      ScriptedModel.call(tool, {
        n,
        ...(wait === undefined ? {} : { wait }),
        ...(plan === undefined ? {} : { plan: JSON.stringify(plan) })
      })
    )
  })
  const shrinking = Layer.succeed(ContextManager, {
    plan: (request) => request.force === undefined ? { _tag: "Send" } : { _tag: "Compact", request },
    compact: (request) => Effect.as(through(world, "compact"), Shrinking.oldest(request))
  })
  const base = Layer.mergeAll(model, shrinking, RunsLocal.layer, ToolExecutorToolkit.layer)
  const approver = Layer.succeed(Approver.Approver, {
    ask: () =>
      Effect.suspend(() => {
        world.tell({ at: "approver" })
        return isAsked ? Effect.never : Effect.undefined
      })
  })
  const belowHandlers = childKit.toLayer({ pay: act("pay"), put: act("put"), refund: act("refund") })
  const below = Below.layer.pipe(Layer.provide([belowHandlers, base]))
  const handlers = kit.toLayer(Effect.map(Below, (agent) => {
    const has = (tool: string) => ({ plan = "[]" }: { readonly plan?: string }) =>
      Effect.flatMap(ToolCall, ({ attempt, idempotencyKey }) => {
        world.tell({ at: "effect", tool, key: idempotencyKey, attempt })
        return ToolCall.runAgent(agent, { input: plan })
      })
    return { pay: act("pay"), put: act("put"), refund: act("refund"), delegate: has("delegate"), hire: has("hire") }
  }))
  const worker = Worker.layer.pipe(Layer.provide([Layer.provide(handlers, below), base]))
  const live = recoverEvery === undefined
    ? worker
    : Layer.provideMerge(Agent.recovering(Worker, { answered: true, every: recoverEvery }), worker)
  const seen = Layer.effect(SessionStore.SessionStore, Effect.map(SessionStore.SessionStore, around))
  return live.pipe(Layer.provide(approver), Layer.provideMerge(Layer.provide(seen, store(options))))
}

/** What was said last: messages that follow each other are one. */
const textOf = (content: Message.Message["content"]): string => {
  if (typeof content === "string") return content
  const last = content.at(-1)
  return last?.type === "text" ? last.text : ""
}
